"""Parts of functions that lie elsewhere: which jumps lead from a function to them, and the code of both as one.

GCC moves what it thinks is rare to a section of its own (`.cold`); hand-written code jumps to an end that several
functions share. Nobody calls such code. It is entered by a jump, with the frame of the function that jumps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from testbed.image import Image
from testbed.micro.code import PieceCode
from testbed.micro.functions import CodePiece, is_linkers

_LINKERS = (".plt", ".iplt")


def parts_of_file(image: Image, pieces: Sequence[CodePiece]) -> tuple[CodePiece, ...]:
    """The code of a file that is not called, but for what linkers add: their jumps are nobody's functions."""
    added = linkers_code(image)
    return tuple(
        piece
        for piece in pieces
        if not piece.is_entry
        and not any(map(is_linkers, piece.names))
        and not any(start <= piece.start < end for start, end in added)
    )


def linkers_code(image: Image, *besides: str) -> list[tuple[int, int]]:
    """Where the jumps begin and end that linkers add; ``besides``: and sections of names that begin so."""
    added = (each for each in image.sections.values() if each.name.startswith((*_LINKERS, *besides)))
    return [(each.address, each.address + each.filled) for each in added]


class PartsFinder:
    """Which parts of a file the jumps of a function lead to."""

    def __init__(self, parts: Sequence[CodePiece], code: Callable[[CodePiece], PieceCode]) -> None:
        self._parts = sorted(parts, key=lambda part: part.start)
        self._starts = [part.start for part in self._parts]
        self._code = code

    def at(self, address: int) -> CodePiece | None:
        """The part at a link-time address."""
        place = bisect_right(self._starts, address) - 1
        return self._parts[place] if place >= 0 and address < self._parts[place].end else None

    def of(self, piece: CodePiece) -> tuple[CodePiece, ...]:
        """The parts that the direct jumps of a function lead to, and those of its parts."""
        found: dict[int, CodePiece] = {}
        to_do = [piece]
        while to_do:
            for target in sorted(self._code(to_do.pop()).leaves):
                part = self.at(target)
                if part is not None and part.start not in found:
                    found[part.start] = part
                    to_do.append(part)
        return tuple(found.values())

    def ends_of(self, piece: CodePiece) -> tuple[int, ...]:
        """Where a function ends, and its parts that no other of them follows."""
        parts = self.of(piece)
        starts = {piece.start, *(part.start for part in parts)}
        return (piece.end, *(part.end for part in parts if part.end not in starts))


def with_parts(code: PieceCode, parts: Sequence[PieceCode]) -> PieceCode:
    """The code of a function and of its parts. What no branch leads to in a part is left out: nobody goes there."""
    if not parts:
        return code
    return replace(
        code,
        sizes={place: size for each in (code, *parts) for place, size in each.sizes.items()},
        branches={place: sides for each in (code, *parts) for place, sides in each.branches.items()},
        indirect=code.indirect.union(*(each.indirect for each in parts)),
        blocks={place: end for each in (code, *parts) for place, end in each.blocks.items()},
    )
