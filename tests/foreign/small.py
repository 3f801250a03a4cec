"""A snapshot that is small enough to be damaged at every byte, and snapshots as files of each format, read again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import testbed
from testbed.export.core import core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.write import macho_core_bytes, snapshot_data
from testbed.foreign import Places, read_snapshot
from testbed.trace import Memory, Snapshot

HERE = Places(sysroot=Path("/"))  # the program files are those of this machine
BINARY: dict[str, Callable[[Snapshot], bytes]] = {
    "core": core_bytes,
    "minidump": minidump_bytes,
    "macho-core": macho_core_bytes,
}
WRITERS = {**BINARY, "json": lambda snapshot: json.dumps(snapshot_data(snapshot)).encode()}


def small(arch: str = "arm64") -> Snapshot:
    """``leaf_call`` in its leaf, with a few words of stack and of code: every unwinder can still walk."""
    run = testbed.run("leaf_call", arch=arch)
    at = run.at("leaf_body")
    code = run.loaded.entry
    parts = [(code, at.memory.read(code, 0x40)), (at.sp & -64, at.memory.read(at.sp & -64, 0x100))]
    return replace(at, memory=Memory.of(parts))


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def back(content: bytes, folder: Path) -> Snapshot:
    """What is read of a file with that in it."""
    return read_snapshot(written(folder / "snapshot", content), HERE).snapshot
