"""What of a snapshot's memory goes into a file, and which parts of it are mapped files.

All that is mapped, except the part of SP's own mapping that lies more than a page under SP: no unwinder reads there,
and a stack is mostly that part. What lies just below SP is kept: the red zone, and the words that an epilogue has just
popped, which LLVM's libunwind reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from testbed.export.register_layouts import RegisterBlock
from testbed.image import LoadedImage, Segment
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory, UsageError

PAGE = 0x1000
BELOW_SP = PAGE  # bytes below SP that are kept at least


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive bytes of memory, and what the mapping allows."""

    address: int
    data: bytes = field(repr=False)
    writable: bool
    executable: bool

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class MappedFile:
    """The pages ``[start, end)`` show the file from ``offset`` (a multiple of the page size) on."""

    path: Path
    start: int
    end: int
    offset: int


def stack_around(snapshot: Snapshot, below: int, above: int) -> tuple[int, bytes]:
    """The stack from SP - below to SP + above, as far as it is mapped, and where it begins; none, where SP is wild."""
    sp = snapshot.sp
    try:
        size = min(snapshot.memory.mapped_until(sp) - sp, above)
        while below:
            try:
                return sp - below, snapshot.memory.read(sp - below, below + size)
            except UnreadableMemory:
                below //= 2
        return sp, snapshot.memory.read(sp, size)
    except UnreadableMemory:
        return sp, b""


def pieces(snapshot: Snapshot) -> tuple[Piece, ...]:
    """The memory to write, ascending and disjoint."""
    found = []
    for start, end in ((at, at + size) for at, size in snapshot.memory.regions):
        if start <= snapshot.sp < end and not _segments_within(snapshot, start, end):
            start = max(start, (snapshot.sp - BELOW_SP) & -PAGE)
        segments = _segments_within(snapshot, start, end)
        found.append(
            Piece(
                start,
                snapshot.memory.read(start, end - start),
                not segments or any(segment.writable for segment in segments),
                any(segment.executable for segment in segments),
            )
        )
    return tuple(found)


def all_mappings(snapshot: Snapshot) -> tuple[tuple[int, int], ...]:
    """All ranges [start, end) that were mapped; none where that is not known."""
    if snapshot.mappings is not None:
        return snapshot.mappings
    return tuple((start, start + size) for start, size in snapshot.memory.regions)


def mapped_files(snapshot: Snapshot) -> tuple[MappedFile, ...]:
    """The pages that show program files, ascending: one entry per segment that has bytes in its file."""
    found = []
    for loaded in snapshot.images:
        for segment in loaded.image.segments:
            if segment.data:
                address = segment.address + loaded.bias
                start, skip = address & -PAGE, address % PAGE
                found.append(
                    MappedFile(
                        loaded.image.path.absolute(),
                        start,
                        (address + len(segment.data) + PAGE - 1) & -PAGE,
                        max(0, segment.offset - skip) & -PAGE,
                    )
                )
    return tuple(sorted(found, key=lambda each: each.start))


def image_range(loaded: LoadedImage) -> tuple[int, int]:
    """The pages from an image's first segment to the end of its last, at run time."""
    starts = [segment.address for segment in loaded.image.segments]
    ends = [segment.address + segment.size for segment in loaded.image.segments]
    return (min(starts) & -PAGE) + loaded.bias, (max(ends) + PAGE - 1 & -PAGE) + loaded.bias


def filled(block: RegisterBlock, snapshot: Snapshot, kind: str) -> bytearray:
    """A block with a snapshot's registers and the block's constants, for a ``kind`` of file.

    Raises UsageError for a register that is not known where the format has no way to say so: a zero would be a value.
    """
    out = bytearray(block.size)
    unknown = block.offsets.keys() - snapshot.registers.keys()
    unsaid = {bit for bit, names in block.groups.items() if unknown.issuperset(names)}
    if lacking := [n for n in block.offsets if n in unknown.difference(*(block.groups[bit] for bit in unsaid))]:
        raise UsageError(
            f"{kind} cannot say that {', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} unknown: "
            "it has a place for every register; use --format json"
        )
    for offset, size, value in block.constants:
        out[offset : offset + size] = value.to_bytes(size, "little")
    for name, offset in block.offsets.items():
        if name in snapshot.registers:
            size = snapshot.arch.by_name[name].bits // 8
            out[offset : offset + size] = snapshot.registers[name].to_bytes(size, "little")
    if block.flags is not None:
        flags = int.from_bytes(out[block.flags : block.flags + 4], "little") & ~sum(unsaid)
        out[block.flags : block.flags + 4] = flags.to_bytes(4, "little")
    return out


def has_any(block: RegisterBlock, snapshot: Snapshot) -> bool:
    """True where a snapshot has at least one register of a block; a block without any is left out of a file."""
    return any(name in snapshot.registers for name in block.offsets)


def _segments_within(snapshot: Snapshot, start: int, end: int) -> list[Segment]:
    return [
        segment
        for loaded in snapshot.images
        for segment in loaded.image.segments
        if segment.address + loaded.bias < end and start < segment.address + loaded.bias + segment.size
    ]
