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

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from testbed.image import Image
from testbed.words.errors import NoUnwindInfo, UnsupportedRule
from unwinders.formats.reader import Reader
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


@dataclass(frozen=True, eq=False)
class ExceptionIndex:
    """The index of one image, sorted."""

    entries: tuple[IndexEntry, ...] = field(repr=False)
    starts: tuple[int, ...] = field(repr=False)

    def at(self, pc: int) -> IndexEntry | None:
        """The entry for a link-time pc, or None: the index says nothing about that code."""
        i = bisect_right(self.starts, pc) - 1
        return self.entries[i] if i >= 0 and pc < self.entries[i].end else None


_INDEXES: WeakKeyDictionary[Image, ExceptionIndex] = WeakKeyDictionary()


def exception_index(image: Image) -> ExceptionIndex:
    """The index of an image, read once.

    Raises NoUnwindInfo where there is none, MalformedTable where its bytes break the format. One that is not sorted
    is malformed: a binary search in it would find anything.
    """
    if image not in _INDEXES:
        _INDEXES[image] = _read(image)
    return _INDEXES[image]


def _read(image: Image) -> ExceptionIndex:
    section = image.sections.get(INDEX)
    if section is None:
        raise NoUnwindInfo(f"{image} has no {INDEX}")
    reader = Reader(INDEX, section.address, section.data)
    if reader.left % _ENTRY:
        raise reader.error(f"the section has {reader.left} bytes, which are no pairs of words")
    found: list[tuple[int, int, int]] = []
    while reader.left:
        at = reader.offset
        # A Thumb function's address has its lowest bit set: that is no part of where its code is.
        start = image.arch.code_address(_target(reader, image))
        if found and start < found[-1][1]:
            raise reader.error(f"an entry for {start:#x}, after {found[-1][1]:#x}: not sorted", at=at)
        found.append((at, start, reader.unsigned(4)))
    ends = [*(start for _, start, _ in found), 1 << (8 * image.arch.word)][1:]
    entries = tuple(
        IndexEntry(at, start, min(end, _end_of_code(image, start)), content)
        for (at, start, content), end in zip(found, ends, strict=True)
    )
    return ExceptionIndex(entries, tuple(entry.start for entry in entries))


def _end_of_code(image: Image, start: int) -> int:
    """No entry reaches beyond the executable segment that it starts in: the last one has no successor to end it."""
    ends = (s.address + s.size for s in image.segments if s.executable and s.address <= start < s.address + s.size)
    return max(ends, default=start)


def _target(reader: Reader, image: Image) -> int:
    """The address that a 31-bit distance from its own place names (R_ARM_PREL31)."""
    at = reader.offset
    word = reader.unsigned(4)
    if word & _COMPACT:
        raise reader.error(f"{word:#010x} is no 31-bit distance", at=at)
    distance = word - (1 << 31) if word >> 30 else word
    return reader.address + at + distance & image.arch.word_mask


def operation_bytes(image: Image, entry: IndexEntry) -> OperationBytes:
    """Where the operations of a function are. Raises MalformedTable; UnsupportedRule for a reserved personality."""
    section = image.sections[INDEX]
    reader = Reader(INDEX, section.address, section.data, entry.offset + 4)
    if entry.content & _COMPACT:
        if _personality(reader, entry.content) != _INLINE:
            raise reader.error(f"{entry.content:#010x}: only personality routine 0 can stand in the index")
        return OperationBytes(INDEX, tuple(_bytes(reader, skip=1)))
    at = reader.offset
    target = _target(reader, image)
    table = image.sections.get(TABLE)
    if table is None or not table.address <= target < table.address + len(table.data):
        raise reader.error(f"the entry is said to be at {target:#x}, which is not in {TABLE}", at=at)
    return _table_entry(Reader(TABLE, table.address, table.data, target - table.address))


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
