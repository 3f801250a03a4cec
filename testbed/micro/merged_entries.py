"""Functions inside one entry of ``.ARM.exidx``, where a stripped file names none.

An entry says where a function begins, and holds until the next entry. Linkers leave out an entry that says the same as
the one before it (GNU ld: ``elf32_arm_fix_exidx_coverage``, lld: ``isDuplicateArmExidxSec``), so one can stand for any
number of functions in a row. What tells of them is what other code does, and what they begin with:

- a call leads there, from code of this file;
- a word of data that a loader would relocate holds the address, with Thumb's bit, or code computes it from its own;
- the link register is pushed there, before control can go elsewhere for good.

Where the instruction above goes on to the place, and is no call, the first counts together with the last only; where a
jump leads there, the first alone does. A case of a switch and a landing pad stand behind a jump too: neither pushes the
link register a second time, and their addresses in data are distances, or lack the bit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from testbed.image import Image
from testbed.micro.code_scan import CodeScan, scan
from testbed.micro.functions import CodePiece, indexed_ranges
from testbed.micro.relocations import RelocationKind, dynamic_relocations

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
    ranges = tuple(indexed_ranges(image))
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
    found = [piece for piece in pieces if piece not in whole]
    for start, end in places:
        entries = {start} & starts | {*_entries(scans[start, end], known)}
        found += [CodePiece(first, last, "", is_entry=True) for first, last in pairwise((*sorted(entries), end))]
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
