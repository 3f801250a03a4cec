"""`.ARM.exidx` and `.ARM.extab`: the index by function, and the unwinding operations of each entry.

Layout (EHABI32, "Index table entries" and "Exception-handling table entries"; all words little-endian)::

    .ARM.exidx   sorted pairs of words: address of the function as a 31-bit distance from the word, then
                     1                     the function cannot be unwound (EXIDX_CANTUNWIND)
                     1000 0000 op op op    the operations themselves, personality routine 0
                     0...                  31-bit distance to an entry of .ARM.extab
    .ARM.extab   1000 0000 op op op        personality routine 0: three bytes of operations
                 1000 iiii n op op         personality routine 1 or 2: two bytes, and n more words of them
                 0... , n op op op         a routine of the program's own: three bytes, and n more words

In a word, the most significant byte comes first. An index entry is for the code up to the next one. What follows a
routine of the program's own is that routine's affair; this is how GCC's and LLVM's C++ routines have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import unpack_from

from testbed.image import Image
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from unwinders.formats.indexed import up_to_the_next
from unwinders.formats.reader import Reader, reader_of
from unwinders.formats.sections import EXIDX, EXTAB

INDEX, TABLE = EXIDX, EXTAB

CANTUNWIND = 1
_ENTRY = 8  # bytes of an index entry
_COMPACT = 1 << 31
_INLINE = 0  # the personality routine of operations in the index itself
_LONG = (1, 2)  # those whose operations go on in further words


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index says about the link-time pcs ``[start, end)``; ``offset`` is its place in `.ARM.exidx`."""

    offset: int
    start: int
    end: int
    content: int  # the second word

    @property
    def cannot_unwind(self) -> bool:
        return self.content == CANTUNWIND


@dataclass(frozen=True, slots=True)
class OperationBytes:
    """The bytes of a function's operations in the order of execution, each with its place in ``section``."""

    section: str
    bytes: tuple[tuple[int, int], ...]  # (section offset, value)


@dataclass(frozen=True, slots=True)
class BrokenEntry:
    """Pcs that an entry of the index may be for which does not say where they begin, or an entry that does not say
    where they end."""

    start: int
    end: int
    why: MalformedTable


def exception_index(image: Image) -> tuple[IndexEntry | BrokenEntry, ...]:
    """The entries of an image's index, sorted and disjoint.

    Raises NoUnwindInfo where there is none, MalformedTable where it is no list of pairs of words. An entry that is not
    in order, or has no address, hides where the one before it ends: what lies between its good neighbours is broken.
    """
    section = image.sections.get(INDEX)
    if section is None:
        raise NoUnwindInfo(f"{image} has no {INDEX}")
    reader = reader_of(image, section, INDEX)
    if reader.left % _ENTRY:
        raise reader.error(f"the section has {reader.left} bytes, which are no pairs of words")
    words = unpack_from(f"<{reader.left // 4}I", reader.data)
    # A Thumb function's address has its lowest bit set: that is no part of where its code is.
    starts = [
        None
        if word & _COMPACT
        else image.arch.code_address(_distant(section.address + _ENTRY * i, word) & image.arch.word_mask)
        for i, word in enumerate(words[::2])
    ]
    found: list[IndexEntry | BrokenEntry] = []
    ends = _CodeEnds(image)
    reader.spend("steps", len(starts) * len(ends.code))
    for part, hidden in up_to_the_next(starts, 1 << (8 * image.arch.word)):
        if hidden is None:
            end = min(part.end, ends.after(part.start))
            found.append(IndexEntry(_ENTRY * part.entry, part.start, end, words[2 * part.entry + 1]))
        else:
            wild, word = starts[hidden], words[2 * hidden]
            detail = f"{word:#010x} is no 31-bit distance" if wild is None else f"an entry for {wild:#x}: not sorted"
            end = part.end if part.entry == hidden else min(part.end, ends.after(part.start))
            found.append(BrokenEntry(part.start, end, reader.error(detail, at=_ENTRY * hidden)))
    return tuple(found)


class _CodeEnds:
    """No entry reaches beyond the executable segment that it starts in: the last one has no successor to end it."""

    def __init__(self, image: Image) -> None:
        self.code = [(s.address, s.address + s.size) for s in image.segments if s.executable]

    def after(self, start: int) -> int:
        return max((end for low, end in self.code if low <= start < end), default=start)


def _target(reader: Reader, image: Image) -> int:
    """The address that a 31-bit distance from its own place names (R_ARM_PREL31)."""
    at = reader.offset
    word = reader.unsigned(4)
    if word & _COMPACT:
        raise reader.error(f"{word:#010x} is no 31-bit distance", at=at)
    return _distant(reader.address + at, word) & image.arch.word_mask


def _distant(place: int, word: int) -> int:
    return place + (word - (1 << 31) if word >> 30 else word)


def operation_bytes(image: Image, entry: IndexEntry) -> OperationBytes:
    """Where the operations of a function are. Raises MalformedTable; UnsupportedRule for a reserved personality."""
    section = image.sections[INDEX]
    reader = reader_of(image, section, INDEX, entry.offset + 4)
    if entry.content & _COMPACT:
        if _personality(reader, entry.content) != _INLINE:
            raise reader.error(f"{entry.content:#010x}: only personality routine 0 can stand in the index")
        return OperationBytes(INDEX, tuple(_bytes(reader, skip=1)))
    at = reader.offset
    target = _target(reader, image)
    table = image.sections.get(TABLE)
    if table is None or not table.address <= target < table.address + len(table.data):
        raise reader.error(f"the entry is said to be at {target:#x}, which is not in {TABLE}", at=at)
    return _table_entry(reader_of(image, table, TABLE, target - table.address))


def _table_entry(reader: Reader) -> OperationBytes:
    at = reader.offset
    first = reader.unsigned(4)
    reader.offset = at
    skip = 1
    if not first & _COMPACT:
        reader.take(4)  # the distance to the program's own routine
        count = reader.part(reader.offset, reader.end).take(4)[3]
    elif (personality := _personality(reader, first)) == _INLINE:
        count = 0
    elif personality in _LONG:
        skip, count = 2, (first >> 16) & 0xFF
    else:
        raise UnsupportedRule(f"{TABLE}+{at:#x}: personality routine {personality} is reserved")
    if 4 * (1 + count) > reader.left:
        raise reader.error(f"{count} more words of operations reach past the end of the section", at=at)
    reader.spend("steps", 4 * (1 + count))
    content = list(_bytes(reader, skip))
    for _ in range(count):
        content += _bytes(reader)
    return OperationBytes(TABLE, tuple(content))


def _personality(reader: Reader, word: int) -> int:
    if word >> 28 != 0b1000:
        raise reader.error(f"{word:#010x}: bits 28 to 30 of a compact entry are not zero")
    return (word >> 24) & 0xF


def _bytes(reader: Reader, skip: int = 0) -> Iterator[tuple[int, int]]:
    """The bytes of the next word, the most significant one first, without the first ``skip``."""
    at = reader.offset
    word = reader.take(4)
    for i in range(3 - skip, -1, -1):
        yield at + i, word[i]
