"""A file with a stopped thread as a `Snapshot`: its first bytes say what kind of file it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.arch import Arch
from testbed.export.register_layouts import LAYOUTS, MACHO_ADDRESS_BITS, MACHO_IMAGES
from testbed.foreign.elf_core import read_core
from testbed.foreign.minidump import read_minidump
from testbed.foreign.model import (
    MOST_PIECES,
    TAKE_IT_AGAIN,
    Dump,
    DumpBytes,
    Module,
    disjoint,
    filled_from,
    registers_in,
)
from testbed.foreign.program_files import Places, loaded_images, memory_of
from testbed.foreign.snapshot_json import read_json
from testbed.image.macho import MACH_O, arch_of_cpu
from testbed.trace import Snapshot
from testbed.words.budget import Account, Budget
from testbed.words.errors import SnapshotFileError, UsageError
from testbed.words.files import is_folder, regular_bytes, said

# Mach-O core files (MH_CORE), as LLDB and `testbed export` write them: registers and memory.
#
# Read too is which bits of a pointer may be its signature, and which program files were loaded where, if the note "all
# image infos" says it. In a core without that note nothing does: `--file PATH@BASE` is for it.
#
# Source: Mach-O, mach-o/loader.h; LLDB, ObjectFileMachO.cpp (GetCorefileAllImageInfos).

_CORE, _SEGMENT, _THREAD, _NOTE = 4, 0x19, 0x4, 0x31
_HEADER = 32
_IMAGE_SIZE, _SEGMENT_SIZE = 48, 32
_NOT_KNOWN = (1 << 64) - 1
_EXECUTE = 4  # VM_PROT_EXECUTE, in the protection that a segment begins with


def read_macho_core(path: Path, content: bytes, account: Account, thread: int = 0) -> Dump:
    """The core file ``path``, whose bytes are ``content``; ``thread`` counts from 0, in the order of the file.

    Raises SnapshotFileError (file, offset, what is wrong, what to do), and BudgetExceeded: what is read draws on
    ``account``.
    """
    file = DumpBytes(path, content, 0, account)
    file.take(0, _HEADER, "the header")
    cpu, kind, count = (file.unsigned(at, 4, "the header") for at in (4, 12, 16))
    arch = arch_of_cpu(cpu)
    if arch is None:
        known = ", ".join(f"{name} ({of.cpu:#x})" for name, of in MACH_O.items() if of)
        raise file.error(4, f"unknown architecture: cpu type {cpu:#x}; known are {known}")
    if kind != _CORE:
        raise file.error(12, f"a Mach-O file of type {kind}, not a core (4): give a core file")
    if count > MOST_PIECES:
        raise file.error(16, f"{count} load commands; {TAKE_IT_AGAIN}")
    memory, mapped, threads, at, mask, whole = [], [], [], _HEADER, None, False
    modules: tuple[Module, ...] = ()
    for number in range(count):
        file.account.spend("entries", 2, at)
        what = f"load command {number}; {TAKE_IT_AGAIN}:"
        command, size = file.unsigned(at, 4, what), file.unsigned(at + 4, 4, what)
        part = file.part(at, max(size, 8), what)
        if command == _SEGMENT:
            address, size_there, offset, in_file = (part.unsigned(24 + 8 * i, 8, what) for i in range(4))
            mapped.append((address, min(address + size_there, 1 << 64)))
            whole |= bool(part.unsigned(60, 4, what) & _EXECUTE)  # LLDB also writes stacks alone: no code
            memory.append((address, file.take(offset, in_file, f"the memory at {address:#x}; {TAKE_IT_AGAIN}:")))
            if address + in_file > 1 << 64:
                raise file.error(at, f"memory at {address:#x} leaves the address space; {TAKE_IT_AGAIN}")
        elif command == _THREAD:
            threads.append(part)
        elif command == _NOTE:
            owner, place = part.take(8, 16, what).rstrip(b"\0"), part.unsigned(24, 8, what)
            if owner == MACHO_ADDRESS_BITS:
                mask = _signature_mask(file.part(place, 8, "the note of the addresses' bits"))
            elif owner == MACHO_IMAGES:
                modules = tuple(_modules(file, place))
        at += max(size, 8)
    if not 0 <= thread < len(threads):
        raise file.error(16, f"there is no thread {thread}: the file has {len(threads)}, counted from 0")
    registers = _registers(arch, threads[thread])
    mappings = tuple((start, end) for start, end in mapped if start < end) if whole else ()
    return Dump(path, "Mach-O core", arch, registers, disjoint(memory), modules, len(threads), mask, mappings, account)


def _signature_mask(note: DumpBytes) -> int | None:
    """LLDB's note "addrable bits", versions 3 and 4: how many low bits are the address. The others may be a signature.

    Zero: all bits, or it is not known.
    """
    version, bits = (note.unsigned(at, 4, "the note of the addresses' bits") for at in (0, 4))
    return (1 << 64) - (1 << bits) if version in (3, 4) and 0 < bits < 64 else None


def _modules(file: DumpBytes, at: int) -> Iterator[Module]:
    """LLDB's note "all image infos", version 1: {version, count, where the entries begin, size of one}.

    An entry: where its path is (0: not known), UUID, address (all ones: each segment has its own), where its segments
    are {name, address, 0}, how many. One without a path names no file, and one without an address lies nowhere.
    """
    what = "the note of all images"
    version, count = (file.unsigned(at + 4 * i, 4, what) for i in range(2))
    if version != 1:
        return
    if count > MOST_PIECES:
        raise file.error(at + 4, f"{count} images; {TAKE_IT_AGAIN}")
    first, size = file.unsigned(at + 8, 8, what), max(file.unsigned(at + 16, 4, what), _IMAGE_SIZE)
    for entry in range(first, first + count * size, size):
        file.account.spend("entries", 1, file.start + entry)
        path_at, start = file.unsigned(entry, 8, what), file.unsigned(entry + 24, 8, what)
        if start == _NOT_KNOWN:
            segments, number = file.unsigned(entry + 32, 8, what), file.unsigned(entry + 40, 4, what)
            start = _lowest(file, segments, number)
        if path_at and start != _NOT_KNOWN:
            uuid = file.take(entry + 8, 16, what)
            name = file.string(path_at, "the path of an image")
            yield Module(name, start, file.start + entry, identifier=uuid if any(uuid) else b"")


def _lowest(file: DumpBytes, at: int, count: int) -> int:
    """The lowest address of segments that were loaded; all ones where there is none. Nothing is at __PAGEZERO."""
    lowest = _NOT_KNOWN
    for segment in range(at, at + count * _SEGMENT_SIZE, _SEGMENT_SIZE):
        file.account.spend("entries", 1, file.start + segment)
        name = file.take(segment, 16, "a segment of an image").rstrip(b"\0")
        if name != b"__PAGEZERO":
            lowest = min(lowest, file.unsigned(segment + 16, 8, "a segment of an image"))
    return lowest


def _registers(arch: Arch, command: DumpBytes) -> dict[str, int]:
    """LC_THREAD: {flavor, count in words of 4 bytes, state} until its end."""
    blocks = LAYOUTS[arch.name].mach_o
    out: dict[str, int] = {}
    at = 8
    while at + 8 <= len(command):
        flavor, size = command.unsigned(at, 4, "LC_THREAD"), 4 * command.unsigned(at + 4, 4, "LC_THREAD")
        if flavor in blocks:
            out |= registers_in(arch, blocks[flavor], command.part(at + 8, size, "a thread state"), "a thread state")
        at += 8 + size
    return out


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
    try:
        found = [path for path in sorted(folder.iterdir()) if path.is_file() and _is_dump(path)]
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
