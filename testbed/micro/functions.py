"""Which pieces of a file's code are functions: what symbols say, and where table entries begin.

A piece has a beginning that someone calls (``is_entry``), or it is a part of another function that the compiler put
elsewhere, reached by a jump only: as far as its name says it here. What a table says of it, the table's reader knows.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from testbed.image import Image, Section

_HEADER = struct.Struct("<BBBBiI")  # version, encodings of the pointer, the count and the table; pointer, count
_USUAL = (1, 0x1B, 0x03, 0x3B)
_PREL31 = 0x7FFF_FFFF
_CANTUNWIND = 1


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

    Of several symbols at one place the first one names it, and the largest one says how long it is.
    """
    code = [(s.address, s.address + len(s.data)) for s in image.segments if s.executable]
    ends = dict(table_ranges(image))
    names: dict[int, list[str]] = {}
    for symbol in image.symbols:
        if symbol.is_function:
            known = ends.get(symbol.address, 0) if symbol.address in names or not symbol.size else 0
            ends[symbol.address] = max(known, symbol.address + symbol.size)
            names.setdefault(symbol.address, []).append(symbol.name)
    starts = sorted(start for start in ends if any(low <= start < high for low, high in code))
    pieces = []
    for start, following in zip_longest(starts, starts[1:]):
        limit = next(high for low, high in code if low <= start < high)
        limit = limit if following is None else min(following, limit)
        end = min(ends[start], limit) if ends[start] > start else limit
        named = tuple(dict.fromkeys(names.get(start, ())))
        pieces.append(CodePiece(start, end, named[0] if named else "", not any(map(_is_part, named)), named))
    return tuple(pieces)


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
        yield from _indexed(index)


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


def _indexed(index: Section) -> Iterator[tuple[int, int]]:
    """EHABI32, section 5: words (prel31 to the function, data), sorted; each ends where the next one begins.

    Linkers end the index with an entry of their own: "cannot be unwound", at the end of the code that has entries. No
    function begins there; what lies behind it is the procedure linkage table.
    """
    words = struct.unpack(f"<{len(index.data) // 8 * 2}I", index.data[: len(index.data) // 8 * 8])
    starts = []
    for k, word in enumerate(words[::2]):
        distance = word & _PREL31
        distance -= (distance & 0x4000_0000) << 1
        starts.append(index.address + 8 * k + distance & 0xFFFF_FFFE)
    ended = words[-1:] == (_CANTUNWIND,)
    for k, start in enumerate(starts[:-1] if ended else starts):
        after = starts[k + 1] if k + 1 < len(starts) else start
        yield start, after
