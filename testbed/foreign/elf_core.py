"""ELF core files, as the Linux kernel, gdb's ``gcore`` and `testbed export` write them.

Read of one: the registers of a thread (NT_PRSTATUS and the notes that follow it up to the next one), which bits of its
pointers are signatures (NT_ARM_PAC_MASK), the bytes of the PT_LOADs, the program files of NT_FILE that have code
mapped, and the vdso, whose file is in the memory at AT_SYSINFO_EHDR. What was mapped from files and not changed is
mostly not in a core: the files have it.

Source: System V ABI, chapters 4 and 5; fs/binfmt_elf.c (elf_core_dump, fill_files_note); uapi/linux/elf.h.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testbed.arch import ARCHES, Arch
from testbed.export.register_layouts import CORE_PAC_MASK, LAYOUTS, PARTIAL, PARTIAL_OWNER
from testbed.foreign.model import MOST_PIECES, TAKE_IT_AGAIN, Dump, DumpBytes, Module, disjoint, registers_in
from testbed.image.model import joined_spans
from testbed.words.budget import Account

_CORE_FILE, _LOAD, _NOTES = 4, 1, 4
_PRSTATUS, _AUXV, _FILE = 1, 6, 0x4649_4C45
_RANDOM, _EXECFN, _SYSINFO_EHDR = 25, 31, 33
_AGAIN = f"{TAKE_IT_AGAIN} (ulimit -c unlimited, and enough room on the disk)"


@dataclass(frozen=True, slots=True)
class _LoadSegment:
    """A PT_LOAD: its address, its size in memory, its bytes in the file (fewer: left out), whether it may execute."""

    address: int
    size: int
    data: bytes = field(repr=False)
    executable: bool


@dataclass(frozen=True, slots=True)
class _CoreNote:
    owner: str
    kind: int
    content: DumpBytes


def read_core(path: Path, content: bytes, account: Account, thread: int = 0) -> Dump:
    """The core file ``path``, whose bytes are ``content``; ``thread`` counts from 0, in the order of the file.

    Raises SnapshotFileError (file, offset, what is wrong, what to do), and BudgetExceeded: what is read draws on
    ``account``.
    """
    file = DumpBytes(path, content, 0, account)
    arch = _arch(file)
    mappings, notes = _program_headers(file, arch)
    threads = [i for i, note in enumerate(notes) if (note.owner, note.kind) == ("CORE", _PRSTATUS)]
    if not threads:
        raise file.error(0, f"no NT_PRSTATUS note, so no thread's registers; {_AGAIN}")
    if not 0 <= thread < len(threads):
        raise file.error(0, f"there is no thread {thread}: the file has {len(threads)}, counted from 0")
    last = threads[thread + 1] if thread + 1 < len(threads) else len(notes)
    its = notes[threads[thread] : last]
    memory = disjoint((mapping.address, mapping.data) for mapping in mappings)
    return Dump(
        path,
        "ELF core",
        arch,
        _registers(arch, its),
        memory,
        (*_files(arch, notes, mappings, memory), *_vdso(arch, notes, memory)),
        len(threads),
        _pac_mask(its),
        _mapped(arch, notes, mappings),
        account,
    )


def _arch(file: DumpBytes) -> Arch:
    if file.take(0, 16, "the ELF header")[:4] != b"\x7fELF":
        raise file.error(0, "not an ELF file (no 7f 45 4c 46)")
    kind, machine = file.unsigned(16, 2, "the ELF header"), file.unsigned(18, 2, "the ELF header")
    if file.data[5] != 1:
        raise file.error(5, "a big-endian core; only little-endian ones are read")
    if kind != _CORE_FILE:
        raise file.error(
            16, f"an ELF file of type {kind}, not a core (4): give a core file, or `testbed run` a program"
        )
    arch = next((ARCHES[name] for name, known in LAYOUTS.items() if known.elf_machine == machine), None)
    if arch is None or file.data[4] != (2 if arch.word == 8 else 1):
        known = ", ".join(f"{name} ({known.elf_machine})" for name, known in LAYOUTS.items())
        raise file.error(18, f"unknown architecture: machine {machine}, class {file.data[4]}; known are {known}")
    return arch


def _program_headers(file: DumpBytes, arch: Arch) -> tuple[list[_LoadSegment], list[_CoreNote]]:
    wide = arch.word == 8
    at = file.unsigned(32 if wide else 28, arch.word, "e_phoff")
    size, count = (file.unsigned((54 if wide else 42) + 2 * i, 2, "the ELF header") for i in range(2))
    if count == 0xFFFF:  # PN_XNUM: the real number is in the first section header's sh_info
        sections = file.unsigned(40 if wide else 32, arch.word, "e_shoff")
        count = file.unsigned(sections + (44 if wide else 28), 4, "the number of program headers")
    layout = "<IIQQQQQQ" if wide else "<IIIIIIII"
    if size != struct.calcsize(layout) or not 0 < count <= MOST_PIECES:
        raise file.error(54 if wide else 42, f"{count} program headers of {size} bytes; {_AGAIN}")
    mappings: list[_LoadSegment] = []
    notes: list[_CoreNote] = []
    for i in range(count):
        header = file.take(at + i * size, size, f"program header {i}")
        if wide:
            kind, flags, offset, address, _, in_file, in_memory, _ = struct.unpack(layout, header)
        else:
            kind, offset, address, _, in_file, in_memory, flags, _ = struct.unpack(layout, header)
        if kind not in (_LOAD, _NOTES):
            continue
        if offset + in_file > len(file):
            what = "memory" if kind == _LOAD else "notes"
            raise file.error(
                at + i * size, f"{in_file:#x} bytes of {what} at {offset:#x} reach past the end of the file; {_AGAIN}"
            )
        if address + in_memory > 1 << 8 * arch.word:
            raise file.error(at + i * size, f"memory at {address:#x} leaves the address space; {_AGAIN}")
        file.account.spend("entries", 1, at + i * size)
        if kind == _LOAD:
            file.account.spend("mapped", min(in_file, in_memory), offset)
            data = file.data[offset : offset + min(in_file, in_memory)]
            mappings.append(_LoadSegment(address, in_memory, data, bool(flags & 1)))
        else:
            notes.extend(_notes(file.part(offset, in_file, "the notes")))
    return mappings, notes


def _notes(part: DumpBytes) -> Iterator[_CoreNote]:
    """Notes: name size, content size, type, then both, each padded to 4 bytes."""
    at = 0
    while at + 12 <= len(part):
        part.account.spend("entries", 2, part.start + at)
        name_size, size, kind = struct.unpack_from("<III", part.data, at)
        name = part.take(at + 12, name_size, f"the name of a note of type {kind:#x}")
        start = at + 12 + (name_size + 3 & ~3)
        yield _CoreNote(
            name.rstrip(b"\0").decode("latin-1"), kind, part.part(start, size, f"the note of type {kind:#x}")
        )
        at = start + (size + 3 & ~3)


def _registers(arch: Arch, notes: list[_CoreNote]) -> dict[str, int]:
    """All registers that one thread's notes have: NT_PRSTATUS must be whole, the others may be missing."""
    out: dict[str, int] = {}
    for layout in LAYOUTS[arch.name].core:
        note = next((n for n in notes if (n.owner, n.kind) == (layout.owner, layout.type)), None)
        if note is not None:
            out |= registers_in(arch, layout.block, note.content, f"the note of type {layout.type:#x}")
    return out


def _pac_mask(notes: list[_CoreNote]) -> int | None:
    """NT_ARM_PAC_MASK, ``struct user_pac_mask``: the mask of data pointers, then that of code pointers."""
    note = next((n for n in notes if (n.owner, n.kind) == ("LINUX", CORE_PAC_MASK)), None)
    return None if note is None else note.content.unsigned(8, 8, "the note NT_ARM_PAC_MASK")


def _mapped(arch: Arch, notes: list[_CoreNote], segments: list[_LoadSegment]) -> tuple[tuple[int, int], ...]:
    """All that was mapped: the kernel writes a PT_LOAD per mapping, gcore leaves out files, which NT_FILE has.

    Nothing, where there was more: our own note says so; or the first thread's stack, to which the kernel has put what
    AT_RANDOM and AT_EXECFN point to, is there in part only.
    """
    found = [(segment.address, segment.address + segment.size) for segment in segments]
    if any((note.owner, note.kind) == (PARTIAL_OWNER, PARTIAL) for note in notes):
        return ()
    pointers = {value for key, value, _ in _auxiliary(arch, notes) if key in (_RANDOM, _EXECFN) and value}
    if not all(_Spans(found).overlap(at, at + 1) for at in pointers):
        return ()
    return (*found, *((start, end) for start, end, *_ in _file_mappings(arch, notes)))


def _files(
    arch: Arch, notes: list[_CoreNote], mappings: list[_LoadSegment], memory: tuple[tuple[int, bytes], ...]
) -> Iterator[Module]:
    """The mapped program files.

    A program file has code mapped, or its header lies where its first mapping does: of mappings of code that nothing
    was written to, gcore leaves out the very program header.
    """
    code = _Spans((m.address, m.address + m.size) for m in mappings if m.executable)
    starts: dict[str, tuple[int, int, int]] = {}
    with_code: set[str] = set()
    for start, end, offset, said_at, name in _file_mappings(arch, notes):
        starts.setdefault(name, (start, offset, said_at))
        if code.overlap(start, end):
            with_code.add(name)
    for name, (start, offset, said_at) in starts.items():
        if name in with_code or _bytes_at(memory, start, 4) == b"\x7fELF":
            yield Module(name, start, said_at, offset=offset)


def _file_mappings(arch: Arch, notes: list[_CoreNote]) -> Iterator[tuple[int, int, int, int, str]]:
    """NT_FILE: count, page size, {start, end, offset in pages} each, then the names. As (start, end, offset in bytes,
    where the dump says it, name)."""
    note = next((n for n in notes if (n.owner, n.kind) == ("CORE", _FILE)), None)
    if note is None:
        return
    part, word = note.content, arch.word
    count = part.unsigned(0, word, "NT_FILE")
    part.take(2 * word, 3 * word * count, "the mappings of NT_FILE")
    page = part.unsigned(word, word, "NT_FILE")
    at = 2 * word + 3 * word * count
    for entry in range(2 * word, at, 3 * word):
        start, end, pages = (part.unsigned(entry + word * j, word, "NT_FILE") for j in range(3))
        name = part.string(at, "a name in NT_FILE")
        at += len(part.data[at : part.data.index(b"\0", at)]) + 1
        part.account.spend("entries", 1, part.start + entry)
        yield start, end, pages * page, part.start + entry, name


def _auxiliary(arch: Arch, notes: list[_CoreNote]) -> Iterator[tuple[int, int, int]]:
    """NT_AUXV: pairs of words. As (key, value, where the dump says it)."""
    note = next((n for n in notes if (n.owner, n.kind) == ("CORE", _AUXV)), None)
    for at in range(0, len(note.content) - 2 * arch.word + 1, 2 * arch.word) if note else ():
        assert note is not None
        key, value = (note.content.unsigned(at + i * arch.word, arch.word, "NT_AUXV") for i in range(2))
        yield key, value, note.content.start + at


def _vdso(arch: Arch, notes: list[_CoreNote], memory: tuple[tuple[int, bytes], ...]) -> Iterator[Module]:
    for key, start, said_at in _auxiliary(arch, notes):
        if key == _SYSINFO_EHDR and _bytes_at(memory, start, 4) == b"\x7fELF":
            data = _bytes_at(memory, start)
            notes[0].content.account.spend("mapped", len(data), said_at)
            yield Module("[vdso]", start, said_at, content=data)


def _bytes_at(memory: tuple[tuple[int, bytes], ...], start: int, most: int | None = None) -> bytes:
    """What the core has from an address on, up to the end of that piece; nothing where it has not."""
    i = bisect_right(memory, start, key=lambda piece: piece[0]) - 1
    at, data = memory[i] if i >= 0 else (0, b"")
    return data[start - at : None if most is None else start - at + most]


class _Spans:
    """Ranges of addresses, to be asked often."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._joined = joined_spans(spans)

    def overlap(self, start: int, end: int) -> bool:
        """True where any of them has an address of ``[start, end)``."""
        i = bisect_right(self._joined, (end - 1, 1 << 65)) - 1
        return i >= 0 and start < self._joined[i][1]
