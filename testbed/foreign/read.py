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
from testbed.words.budget import Account, Budget
from testbed.words.errors import SnapshotFileError, UsageError
from testbed.words.files import is_folder, regular_bytes, said

_KINDS = "an ELF core, a Mach-O core, a minidump, or a JSON snapshot"


@dataclass(frozen=True, eq=False)
class Foreign:
    """A snapshot from a file, the file as it was read, and the modules that were left out."""

    snapshot: Snapshot
    dump: Dump
    left_out: tuple[str, ...] = ()


def read_snapshot(
    path: Path | str, places: Places | None = None, *, thread: int | None = None, budget: Budget | None = None
) -> Foreign:
    """The snapshot in a file, or in a folder that holds one; ``thread`` counts from 0.

    What the dump left out because a program file has it is taken from there. Raises SnapshotFileError (file, offset,
    what is wrong, what to do), ImageError for a program file that cannot be read, UsageError for a choice that makes
    no sense, BudgetExceeded for a file that costs more to read than ``budget`` (None: the one of the process).
    """
    path = _one_in(Path(path)) if is_folder(Path(path)) else Path(path)
    dump = read_dump(path, thread, budget)
    images, left_out = loaded_images(dump, places or Places(), budget)
    memory = filled_from(dump.memory, memory_of(images))
    parts = (dump.arch, dump.registers, memory, images, dump.pac_mask, dump.mappings)
    try:
        return Foreign(Snapshot.of_loaded(*parts), dump, left_out)
    except UsageError as error:
        raise SnapshotFileError(path, 0, str(error)) from error


def read_dump(path: Path, thread: int | None = None, budget: Budget | None = None) -> Dump:
    """What a file says by itself, without the program files that it names. Raises SnapshotFileError, BudgetExceeded."""
    try:
        content = regular_bytes(path)
    except (OSError, ValueError) as error:
        raise SnapshotFileError(path, 0, f"{said(error)}; give {_KINDS}") from error
    account = Account(path, len(content), budget)
    with account.working():
        return _dump(path, content, account, thread)


def _dump(path: Path, content: bytes, account: Account, thread: int | None) -> Dump:
    if content[:4] == b"\x7fELF":
        return read_core(path, content, account, thread or 0)
    if content[:4] == b"MDMP":
        return read_minidump(path, content, account, thread)
    if content[:4] == b"\xcf\xfa\xed\xfe":
        return read_macho_core(path, content, account, thread or 0)
    if content[:64].lstrip()[:1] == b"{":
        return read_json(path, content, account)
    raise SnapshotFileError(path, 0, f"the first bytes are {content[:4].hex(' ') or 'none'}; this reads {_KINDS}")


def _one_in(folder: Path) -> Path:
    """The one file of a folder that is a dump by its first bytes; program files may lie beside it."""
    found = []
    try:
        for path in sorted(folder.iterdir()):
            if path.is_file() and _is_dump(path):
                found.append(path)
    except OSError as error:
        raise SnapshotFileError(folder, 0, f"{said(error)}; give the file itself: {_KINDS}") from error
    if len(found) != 1:
        what = f"{len(found)} snapshots ({', '.join(path.name for path in found[:4])})" if found else "no snapshot"
        raise SnapshotFileError(folder, 0, f"the folder holds {what}; give the file itself: {_KINDS}")
    return found[0]


def _is_dump(path: Path) -> bool:
    """Whether the first bytes of a file are those of a dump."""
    with path.open("rb") as file:
        start = file.read(64)
    elf_core = start[:4] == b"\x7fELF" and start[16:18] == b"\x04\0"
    macho_core = start[:4] == b"\xcf\xfa\xed\xfe" and start[12:16] == b"\x04\0\0\0"
    return elf_core or macho_core or start[:4] == b"MDMP" or start.lstrip()[:1] == b"{"
