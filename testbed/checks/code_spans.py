"""Functions of a file as ranges of addresses, also where an assembler was not told how long they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from testbed.image import Image, Section, Symbol
from testbed.micro.code_scan import scan
from testbed.micro.functions import CodePiece

_MUCH = 10  # a tenth


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """The link-time addresses ``[start, end)`` of one function; ``name`` is "" where no symbol stands before them."""

    name: str
    start: int
    end: int


@lru_cache(maxsize=1 << 14)
def span_at(image: Image, pc: int) -> CodeSpan:
    """The function at a link-time pc.

    A symbol without a size reaches to the next function. Where no function stands before a pc, any name of code does.
    """
    symbol = image.function_at(pc)
    if symbol is not None and symbol.size:
        return CodeSpan(symbol.name, symbol.address, symbol.address + symbol.size)
    segment = next((s for s in image.segments if s.address <= pc < s.address + s.size), None)
    if segment is None:
        return CodeSpan("", pc, pc + 1)
    for named, addresses in _symbols(image):
        i = bisect_right(addresses, pc)
        end = addresses[i] if i < len(named) else segment.address + segment.size
        last = named[i - 1] if i and segment.address <= addresses[i - 1] else None
        if last is not None and (not last.size or pc < last.address + last.size):
            return CodeSpan(last.name, last.address, min(end, segment.address + segment.size))
    begins, ends = _borders(image)
    before, after = bisect_right(ends, pc), bisect_right(begins, pc)
    start = max(ends[before - 1] if before else 0, segment.address)
    end = segment.address + segment.size
    return CodeSpan("", start, min(begins[after], end) if after < len(begins) else end)


_Named = tuple[tuple[Symbol, ...], tuple[int, ...]]


@lru_cache(maxsize=8)
def _symbols(image: Image) -> tuple[_Named, _Named]:
    """Functions; and names that other files can see, which may be functions that nobody marked; each with addresses."""
    functions = tuple(symbol for symbol in image.symbols if symbol.is_function)
    visible = tuple(symbol for symbol in image.symbols if not symbol.is_data and not symbol.local)
    return (functions, tuple(each.address for each in functions)), (visible, tuple(each.address for each in visible))


@lru_cache(maxsize=8)
def _borders(image: Image) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where functions begin, and where they end, each in order."""
    functions = _symbols(image)[0][0]
    ends = sorted(each.address + each.size for each in functions)
    return tuple(sorted(each.address for each in functions)), tuple(ends)


def bytes_between(image: Image, section: Section, pieces: Iterable[CodePiece]) -> int:
    """How many bytes of a section are of none of some pieces, and no filling between two."""
    at, end, left = section.address, section.address + len(section.data), 0
    starts = sorted((piece.start, piece.end) for piece in pieces)
    for start, after in (*starts, (end, end)):
        if at < min(start, end):
            code = scan(image, at, min(start, end), is_behind=True)
            left += min(start, end) - at - sum(map(code.sizes.__getitem__, code.filling))
        at = max(at, after)
    return left


def unknown_code(image: Image, pieces: Sequence[CodePiece]) -> tuple[int, tuple[str, ...]]:
    """How many bytes of `.text` are of no function that anything tells, if they are a tenth; and that in words."""
    text = image.sections.get(".text")
    left = bytes_between(image, text, pieces) if text is not None else 0
    if text is None or left <= len(text.data) // _MUCH:
        return 0, ()
    whole = f"{left:,} of {len(text.data):,} bytes of {text.name}"
    return left, (f"{whole} are of no function that a symbol, a row or a call tells: nothing is said of them",)
