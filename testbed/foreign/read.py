"""A file with a stopped thread as a `Snapshot`: its first bytes say what kind of file it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from testbed.foreign.elf_core import read_core
from testbed.foreign.macho_core import read_macho_core
from testbed.foreign.minidump import read_minidump
from testbed.foreign.model import Dump, filled_from
from testbed.foreign.program_files import Places, loaded_images, memory_of
from testbed.foreign.snapshot_json import read_json
from testbed.trace import Snapshot
from testbed.words.errors import SnapshotFileError, UsageError

_KINDS = "an ELF core, a Mach-O core, a minidump, or a JSON snapshot"
_MOST = 1 << 32  # bytes of a dump that are read


@dataclass(frozen=True, eq=False)
class Foreign:
    """A snapshot from a file, the file as it was read, and the modules that were left out."""

    snapshot: Snapshot
    dump: Dump
    left_out: tuple[str, ...] = ()


def read_snapshot(path: Path | str, places: Places | None = None, *, thread: int | None = None) -> Foreign:
    """The snapshot in a file, or in a folder that holds one; ``thread`` counts from 0.

    What the dump left out because a program file has it is taken from there. Raises SnapshotFileError (file, offset,
    what is wrong, what to do), ImageError for a program file that cannot be read, UsageError for a choice that makes
    no sense.
    """
    path = _one_in(Path(path)) if Path(path).is_dir() else Path(path)
    dump = read_dump(path, thread)
    images, left_out = loaded_images(dump, places or Places())
    memory = filled_from(dump.memory, memory_of(images))
    parts = (dump.arch, dump.registers, memory, images, dump.pac_mask, dump.mappings)
    try:
        return Foreign(Snapshot.of_loaded(*parts), dump, left_out)
    except UsageError as error:
        raise SnapshotFileError(path, 0, str(error)) from error


def read_dump(path: Path, thread: int | None = None) -> Dump:
    """What a file says by itself, without the program files that it names. Raises SnapshotFileError."""
    try:
        if path.stat().st_size > _MOST:
            raise SnapshotFileError(path, 0, f"{path.stat().st_size:#x} bytes; at most {_MOST:#x} are read")
        content = path.read_bytes()
    except OSError as error:
        raise SnapshotFileError(path, 0, f"{error.strerror or error}; give {_KINDS}") from error
    if content[:4] == b"\x7fELF":
        return read_core(path, content, thread or 0)
    if content[:4] == b"MDMP":
        return read_minidump(path, content, thread)
    if content[:4] == b"\xcf\xfa\xed\xfe":
        return read_macho_core(path, content, thread or 0)
    if content.lstrip()[:1] == b"{":
        return read_json(path, content)
    raise SnapshotFileError(path, 0, f"the first bytes are {content[:4].hex(' ') or 'none'}; this reads {_KINDS}")


def _one_in(folder: Path) -> Path:
    """The one file of a folder that is a dump by its first bytes; program files may lie beside it."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(64)
            elf_core = start[:4] == b"\x7fELF" and start[16:18] == b"\x04\0"
            macho_core = start[:4] == b"\xcf\xfa\xed\xfe" and start[12:16] == b"\x04\0\0\0"
            if elf_core or macho_core or start[:4] == b"MDMP" or start.lstrip()[:1] == b"{":
                found.append(path)
    if len(found) != 1:
        what = f"{len(found)} snapshots ({', '.join(path.name for path in found[:4])})" if found else "no snapshot"
        raise SnapshotFileError(folder, 0, f"the folder holds {what}; give the file itself: {_KINDS}")
    return found[0]
