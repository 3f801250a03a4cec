"""One snapshot to one file, in a format chosen by name."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from testbed.export.core import core_bytes
from testbed.export.macho_core import macho_core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.snapshot_json import snapshot_data
from testbed.trace import Snapshot
from testbed.words.errors import UsageError


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its name on the command line, how its files end, and what makes its bytes."""

    name: str
    suffix: str
    summary: str
    encode: Callable[[Snapshot], bytes]


def _json(snapshot: Snapshot) -> bytes:
    return (json.dumps(snapshot_data(snapshot), indent=1) + "\n").encode("ascii")


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        each.name: each
        for each in (
            Format("core", ".core", "ELF core file: gdb, LLDB, drgn, eu-stack", core_bytes),
            Format("minidump", ".dmp", "minidump: minidump-stackwalk, LLDB, Visual Studio", minidump_bytes),
            Format("json", ".json", "registers, memory, mapped files as text: snapshot.schema.json", _json),
            Format("macho-core", ".mcore", "Mach-O core file: LLDB", macho_core_bytes),
        )
    }
)


def write_snapshot(snapshot: Snapshot, path: Path, how: Format, *, force: bool = False) -> int:
    """Write a snapshot; the size of the file. Without ``force`` an existing file stays, which is a UsageError.

    The file appears when it is complete. Raises UsageError where it cannot be written.
    """
    data = how.encode(snapshot)
    try:
        descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.chmod(name, 0o644)
            if force:
                os.replace(name, path)
            else:
                os.link(name, path)  # fails where the name is taken, also in the last moment
        finally:
            if os.path.exists(name):
                os.unlink(name)
    except FileExistsError as error:
        raise UsageError(f"{path} exists already; give another name with -o, or --force") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(data)
