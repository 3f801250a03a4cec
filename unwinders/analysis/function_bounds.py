"""Where a function begins and ends, as the symbols say.

A function covers its symbol's size; without one, everything up to the next function symbol or the end of its segment.
The parts that a compiler has moved elsewhere (``f.cold``) belong to it: they are entered by jumps, with its frame.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from testbed.image import Image, Symbol, once_per_image
from testbed.words.errors import NoUnwindInfo

COLD = ".cold"  # GCC and LLVM name what they split off ``f.cold``, a second part ``f.cold.1``


@dataclass(frozen=True, slots=True)
class FunctionParts:
    """``parts`` are its [start, end) of link-time addresses, that with the entry first."""

    name: str
    parts: tuple[tuple[int, int], ...]

    @property
    def entry(self) -> int:
        return self.parts[0][0]

    @property
    def size(self) -> int:
        return sum(end - start for start, end in self.parts)

    def covers(self, pc: int) -> bool:
        return any(start <= pc < end for start, end in self.parts)


@dataclass(frozen=True, eq=False)
class Functions:
    """All functions of an image, and which one covers a pc."""

    image: Image = field(repr=False)
    all: tuple[FunctionParts, ...]
    _starts: tuple[int, ...]
    _spans: tuple[tuple[int, int, FunctionParts], ...]  # sorted, and none overlaps another

    def at(self, pc: int) -> FunctionParts:
        """The function that covers a link-time pc, the innermost one. Raises NoUnwindInfo where no symbol does."""
        i = bisect_right(self._starts, pc) - 1
        if i >= 0 and pc < self._spans[i][1]:
            return self._spans[i][2]
        raise NoUnwindInfo(f"no function symbol covers {pc:#x}: where its function begins is unknown")


@once_per_image
def functions_of(image: Image) -> Functions:
    """The functions of an image, read once."""
    symbols = [s for s in image.symbols if s.is_function and _executable_end(image, s.address) is not None]
    longest: dict[int, Symbol] = {}
    for symbol in symbols:
        if symbol.address not in longest or symbol.size >= longest[symbol.address].size:
            longest[symbol.address] = symbol
    starts = sorted(longest)
    own: list[tuple[str, tuple[int, int]]] = []
    cold: dict[str, list[tuple[int, int]]] = {}
    for i, start in enumerate(starts):
        symbol, end = longest[start], _executable_end(image, start) or start
        stop = start + symbol.size if symbol.size else starts[i + 1] if i + 1 < len(starts) else end
        name, is_cold, _ = symbol.name.partition(COLD)
        if is_cold:
            cold.setdefault(name, []).append((start, min(stop, end)))
        else:
            own.append((name, (start, min(stop, end))))
    count = Counter(name for name, _ in own)
    # Two static functions of one name: nothing says whose the cold part is, so it is nobody's.
    found = [FunctionParts(n, (part, *(cold.get(n, ()) if count[n] == 1 else ()))) for n, part in own]
    spans = _innermost([(start, end, f) for f in found for start, end in f.parts])
    return Functions(image, tuple(found), tuple(span[0] for span in spans), tuple(spans))


def _innermost(parts: list[tuple[int, int, FunctionParts]]) -> list[tuple[int, int, FunctionParts]]:
    """Each address with the part that covers it and begins last: a symbol inside a function is a second entry."""
    parts = sorted(parts, key=lambda part: (part[0], -part[1]))
    cuts = sorted({address for start, end, _ in parts for address in (start, end)})
    spans: list[tuple[int, int, FunctionParts]] = []
    begun: list[tuple[int, int, FunctionParts]] = []  # the one that begins last on top; below it may lie ended ones
    number = 0
    for low, high in pairwise(cuts):
        while number < len(parts) and parts[number][0] <= low:
            begun.append(parts[number])
            number += 1
        while begun and begun[-1][1] <= low:
            begun.pop()
        if begun and spans and spans[-1][2] is begun[-1][2] and spans[-1][1] == low:
            spans[-1] = (spans[-1][0], high, begun[-1][2])
        elif begun:
            spans.append((low, high, begun[-1][2]))
    return spans


def _executable_end(image: Image, address: int) -> int | None:
    for segment in image.segments:
        if segment.executable and segment.address <= address < segment.address + len(segment.data):
            return segment.address + len(segment.data)
    return None
