"""Which pieces of a file's code are functions: what symbols say, and where table entries begin.

A piece has a beginning that someone calls (``is_entry``), or it is a part of another function that the compiler put
elsewhere, reached by a jump only: as far as its name says it here. What a table says of it, the table's reader knows.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from testbed.image import Image, Section
from testbed.micro.code_scan import CodeScan, scan
from testbed.micro.relocations import RelocationKind, dynamic_relocations

_HEADER = struct.Struct("<BBBBiI")  # version, encodings of the pointer, the count and the table; pointer, count
_USUAL = (1, 0x1B, 0x03, 0x3B)
_PREL31 = 0x7FFF_FFFF
_CANTUNWIND, _INLINE = 1, 0x8000_0000


@dataclass(frozen=True, slots=True)
class CodePiece:
    """Code at the link-time addresses ``[start, end)``; ``name`` is "" where no symbol names it, ``names`` are all."""

    start: int
    end: int
    name: str
    is_entry: bool
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name or f"{self.start:#x}"


def pieces_of(image: Image) -> tuple[CodePiece, ...]:
    """Every piece of code that is known by a symbol or a table entry, by address, none over another.

    Of several symbols at one place the first one names it, a function's if there is one, and the largest one says how
    long it is; where none does it ends where the next one begins, with its section at the latest: what linkers add
    stands in another.
    """
    sections = [(s.address, s.address + len(s.data)) for s in image.sections.values() if s.address]
    code = [(s.address, s.address + len(s.data)) for s in image.segments if s.executable]
    ends = dict(table_ranges(image))
    names: dict[int, list[str]] = {}
    for symbol in image.symbols:
        if symbol.is_function:
            known = ends.get(symbol.address, 0) if symbol.address in names or not symbol.size else 0
            ends[symbol.address] = max(known, symbol.address + symbol.size)
            names.setdefault(symbol.address, []).append(symbol.name)
    labels = {each.address: [each.name] for each in reversed(image.symbols) if not each.is_data}
    starts = sorted(start for start in ends if any(low <= start < high for low, high in code))
    pieces = []
    for start, following in zip_longest(starts, starts[1:]):
        limit = _end_at(start, code)
        limit = limit if following is None else min(following, limit)
        end = min(ends[start], limit) if ends[start] > start else min(_end_at(start, sections), limit)
        named = tuple(dict.fromkeys(names.get(start) or labels.get(start, [])))
        pieces.append(CodePiece(start, end, named[0] if named else "", not any(map(_is_part, named)), named))
    return tuple(pieces)


def _end_at(place: int, ranges: Sequence[tuple[int, int]]) -> int:
    """Where the range ends that a place lies in; above all code where it lies in none."""
    return next((high for low, high in ranges if low <= place < high), 1 << 64)


# lld: ELF/Thunks.cpp. A jump that reaches farther than its caller's; lld writes no row for it.
_THUNK = re.compile(r"__(?:AArch64|ARM|Thumb)\w*Thunk_")


def _is_part(name: str) -> bool:
    """GCC's and LLVM's names of parts of a function that lie elsewhere, and a linker's of its own jumps."""
    return ".cold" in name or name.endswith(".__part.0") or is_linkers(name)


def is_linkers(name: str) -> bool:
    """Whether a linker gave the name, to a jump of its own."""
    return _THUNK.match(name) is not None


def table_ranges(image: Image) -> Iterator[tuple[int, int]]:
    """The ranges of code that the entries of a file's tables are for, as far as their search tables say."""
    if header := image.sections.get(".eh_frame_hdr"):
        yield from _searched(image, header)
    else:
        yield from indexed_ranges(image)


def indexed_ranges(image: Image) -> Iterator[tuple[int, int]]:
    """The ranges of code that the entries of ``.ARM.exidx`` are for; none in a file without."""
    if index := image.sections.get(".ARM.exidx"):
        starts, words = _indexed(index)
        ended = words[-1:] == (_CANTUNWIND,)
        yield from zip_longest(starts[:-1] if ended else starts, starts[1:], fillvalue=starts[-1] if starts else 0)


def _words(image: Image) -> Mapping[int, int]:
    """What the entries of the exception index say, by where they begin."""
    index = image.sections.get(".ARM.exidx")
    return dict(zip(*_indexed(index), strict=True)) if index else {}


def _searched(image: Image, header: Section) -> Iterator[tuple[int, int]]:
    """LSB 5, section 10.6.2: pairs of (first pc, FDE), both counted from the header, sorted."""
    data = header.data
    if len(data) < _HEADER.size:
        return
    version, pointer, count, table, _, number = _HEADER.unpack_from(data)
    if (version, pointer, count, table) != _USUAL:
        return
    number = min(number, (len(data) - _HEADER.size) // 8)
    pairs = struct.unpack_from(f"<{2 * number}i", data, _HEADER.size)
    starts = [header.address + pair & image.arch.word_mask for pair in pairs[::2]]
    for k, start in enumerate(starts):
        size = _range_of(image, header.address + pairs[2 * k + 1], start)
        following = starts[k + 1] if k + 1 < number else start
        yield start, start + size if size else max(following, start)


def _range_of(image: Image, entry: int, start: int) -> int:
    """How many bytes an FDE is for, with its pc as a distance of four bytes or of eight; 0 where it is neither."""
    content = image.bytes_at(entry, 24)
    for size, code in ((4, "<iI"), (8, "<qQ")):
        if len(content) < 8 + 2 * size:
            continue
        distance, length = struct.unpack_from(code, content, 8)
        if (entry + 8 + distance) & image.arch.word_mask == start:
            return int(length)
    return 0


def _indexed(index: Section) -> tuple[Sequence[int], Sequence[int]]:
    """EHABI32, section 5: words (prel31 to the function, data), sorted, as where functions begin, and the data; each
    ends where the next one begins.

    Linkers end the index with an entry of their own: "cannot be unwound", at the end of the code that has entries. No
    function begins there; what lies behind it is the procedure linkage table.
    """
    words = struct.unpack(f"<{len(index.data) // 8 * 2}I", index.data[: len(index.data) // 8 * 8])
    starts = []
    for k, word in enumerate(words[::2]):
        distance = word & _PREL31
        distance -= (distance & 0x4000_0000) << 1
        starts.append(index.address + 8 * k + distance & 0xFFFF_FFFE)
    return starts, words[1::2]


# Functions inside one entry of ``.ARM.exidx``, where a stripped file names none.
#
# An entry says where a function begins, and holds until the next entry. Linkers leave out an entry that says the same
# as the one before it (GNU ld: ``elf32_arm_fix_exidx_coverage``, lld: ``isDuplicateArmExidxSec``), so one can stand
# for any number of functions in a row; but not one that has its words in ``.ARM.extab``: what is called there, as in
# an interpreter, has its caller's frame. What tells of functions is what other code does, and what they begin with:
#
# - a call leads there, from code of this file; - a word of data that a loader would relocate holds the address, with
# Thumb's bit, or code computes it from its own; - the link register is pushed there, before control can go elsewhere
# for good.
#
# Where the instruction above goes on to the place, and is no call, the first counts together with the last only; where
# a jump leads there, the first alone does. A case of a switch and a landing pad stand behind a jump too: neither
# pushes the link register a second time, and their addresses in data are distances, or lack the bit.

_FIRST = 12  # instructions: how far behind a function's beginning the link register is pushed
_Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _KnownTargets:
    """Places that calls of the file lead to, and places whose address its data holds or its code computes."""

    called: frozenset[int] = field(repr=False)
    held: frozenset[int] = field(repr=False)


def with_merged(image: Image, pieces: Sequence[CodePiece]) -> tuple[CodePiece, ...]:
    """The pieces of a file by address, and the functions that lie in their entries of the exception index beside them.

    Looked for in pieces that nothing but the index tells of, and behind those that a symbol says the size of.
    """
    words = _words(image)
    ranges = tuple(each for each in indexed_ranges(image) if words[each[0]] in (_CANTUNWIND, words[each[0]] | _INLINE))
    starts = {start for start, _ in ranges}
    whole = [piece for piece in pieces if not piece.names and piece.start in starts]
    gaps = tuple(_gaps(ranges, pieces))
    places = (*((piece.start, piece.end) for piece in whole), *gaps)
    if not places:
        return tuple(pieces)
    scans = {(piece.start, piece.end): scan(image, piece.start, piece.end) for piece in pieces}
    scans |= {gap: scan(image, *gap, is_behind=True) for gap in gaps}
    called = frozenset(target for code in scans.values() for target in code.calls.values() if target is not None)
    computed = frozenset(at & ~1 for code in scans.values() for at in code.computed if at & 1)
    known = _KnownTargets(called, _held(image) | computed)
    # What is marked begins a stack, or stands where a linker found no table: nobody calls that by itself.
    parts = {start for start, word in words.items() if word == _CANTUNWIND} - known.called - known.held
    found = [piece for piece in pieces if piece not in whole]
    for start, end in places:
        entries = {start} & starts | {*_entries(scans[start, end], known)}
        ends = pairwise((*sorted(entries), end))
        found += [CodePiece(first, last, "", is_entry=first not in parts) for first, last in ends]
    return tuple(sorted(found, key=lambda piece: piece.start))


def _gaps(ranges: Sequence[_Range], pieces: Sequence[CodePiece]) -> Iterator[_Range]:
    """What of the ranges lies behind a piece that begins in it, and before the next one."""
    starts = [piece.start for piece in pieces]
    for first, end in ranges:
        for k in range(bisect_left(starts, first), bisect_left(starts, end)):
            high = min(end, starts[k + 1]) if k + 1 < len(pieces) else end
            if pieces[k].end < high:
                yield pieces[k].end, high


def _held(image: Image) -> frozenset[int]:
    """The places of Thumb code whose address a word holds that a loader would add the file's own place to."""
    found = set[int]()
    for relocation in dynamic_relocations(image):
        if relocation.kind is RelocationKind.RELATIVE:
            value = relocation.addend
            if value is None:
                value = int.from_bytes(image.bytes_at(relocation.place, image.arch.word), "little")
            if value & 1:
                found.add(value & ~1)
    return frozenset(found)


def _entries(code: CodeScan, known: _KnownTargets) -> Iterator[int]:
    """Where functions begin in some code, which begins with one, or behind one."""
    is_behind_call = False
    for at in sorted(code.sizes):
        if at in code.data or at in code.filling:
            continue
        alone = at in code.behind
        saves = _saves_link(code, at, known)
        if at in known.called:
            is_entry = alone or is_behind_call or saves
        elif at in code.jumps or at in code.cases:
            is_entry = False
        else:
            is_entry = (alone and saves) or ((alone or is_behind_call) and at in known.held)
        if is_entry:
            yield at
        is_behind_call = at in code.calls


def _saves_link(code: CodeScan, at: int, known: _KnownTargets) -> bool:
    """Whether the link register is pushed in the next instructions: before a call, an end, or another known target."""
    for _ in range(_FIRST):
        if at in code.saves:
            return True
        if at not in code.sizes or at in code.calls or at in code.data:
            return False
        at += code.sizes[at]
        if at in code.behind or at in known.called or at in known.held:
            return False
    return False
