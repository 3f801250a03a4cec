"""What a file with a stopped thread says, before the program files that it names are looked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.arch import Arch
from testbed.export.register_layouts import RegisterBlock
from testbed.image.file_bytes import FileBytes
from testbed.words.budget import Account
from testbed.words.errors import SnapshotFileError

TAKE_IT_AGAIN = "the file is cut off or damaged: take it again"
MOST_PIECES = 1 << 20  # of memory, modules, notes: a file that claims more is damaged


@dataclass(frozen=True, slots=True)
class Module:
    """A program file that was mapped: what it was called, and where.

    ``start`` is where the byte of the file at ``offset`` lies: its lowest segment, where no offset is told (None); of a
    JSON snapshot ``bias`` says it instead. ``identifier`` is its build
    id, or what was computed in place of one; empty: not known. ``content`` is the file where it is in the dump itself
    (the vdso). ``said_at`` is the offset in the dump that names it.
    """

    name: str
    start: int | None
    said_at: int
    bias: int | None = None
    identifier: bytes = b""
    content: bytes = field(default=b"", repr=False)
    frame_records: Mapping[str, str] = field(default_factory=dict)
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Dump:
    """One file, read: a thread's registers, disjoint memory, modules in ascending order.

    ``threads`` is how many there are, ``kind`` what the file is, ``pac_mask`` which bits of a code pointer are its
    signature (None: the file does not say), ``mappings`` all that was mapped (empty: it does not say), ``account`` what
    reading it has cost.
    """

    path: Path
    kind: str
    arch: Arch
    registers: Mapping[str, int]
    memory: tuple[tuple[int, bytes], ...] = field(repr=False)
    modules: tuple[Module, ...]
    threads: int = 1
    pac_mask: int | None = None
    mappings: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    account: Account = field(default_factory=lambda: Account("a dump", 1 << 20), repr=False)


class DumpBytes(FileBytes):
    """The bytes of a dump: what does not lie in the file is a SnapshotFileError."""

    __slots__ = ()

    def error(self, offset: int, detail: str) -> SnapshotFileError:  # type: ignore[override]
        return SnapshotFileError(self.path, self.start + offset, detail)


def registers_in(arch: Arch, block: RegisterBlock, content: FileBytes, what: str) -> dict[str, int]:
    """The registers of a block, without those that its flags say are not there.

    Raises an error at its offset where the content is shorter than the block.
    """
    content.take(0, block.size, what)
    flags = content.unsigned(block.flags, 4, what) if block.flags is not None else 0
    absent = {name for bit, names in block.groups.items() if not flags & bit for name in names}
    places = {name: at for name, at in block.offsets.items() if name not in absent}
    out = {name: content.unsigned(at, arch.by_name[name].bits // 8, what) for name, at in places.items()}
    return {name: arch.code_address(value) if name == arch.pc else value for name, value in out.items()}


def disjoint(parts: Iterable[tuple[int, bytes]]) -> tuple[tuple[int, bytes], ...]:
    """Pieces of memory, ascending and without overlaps: where two have a byte, the one that begins lower does."""
    out: list[tuple[int, bytes]] = []
    reached = 0
    for _, (address, data) in sorted(enumerate(parts), key=lambda pair: (pair[1][0], pair[0])):
        end = address + len(data)
        if end <= reached:
            continue
        if address < reached:
            address, data = reached, data[reached - address :]
        if data:
            out.append((address, data))
            reached = end
    return tuple(out)


def filled_from(
    memory: tuple[tuple[int, bytes], ...], more: Iterable[tuple[int, bytes]]
) -> tuple[tuple[int, bytes], ...]:
    """Memory, sorted and disjoint, and of ``more`` what lies in its holes."""
    out = list(memory)
    following = 0
    for address, data in disjoint(more):
        at, end = address, address + len(data)
        while following < len(memory) and memory[following][0] + len(memory[following][1]) <= at:
            following += 1
        i = following
        while i < len(memory) and memory[i][0] < end:
            start, known = memory[i]
            if at < start:
                out.append((at, data[at - address : start - address]))
            at = max(at, start + len(known))
            i += 1
        if at < end:
            out.append((at, data[at - address :]))
    return tuple(sorted(out))
