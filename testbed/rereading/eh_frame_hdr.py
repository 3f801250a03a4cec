"""The index `.eh_frame_hdr`, searched by halves in its bytes; the row is that of the FDE that it names.

::

    version (1), encodings of three things: the address of .eh_frame, the number of entries, the entries
    that address, that number, then the entries, sorted: the first pc of a function, the address of its FDE

Source: LSB 5.0 core, section 10.6.2; encodings: section 10.5.1.
"""

from __future__ import annotations

from testbed.image import Image, Section
from testbed.rereading.dwarf import FrameSection, SecondReader
from testbed.rereading.rows import NoRow, SecondRow

_OMITTED = 0xFF
_SIZES = {0: 0, 2: 2, 3: 4, 4: 8, 10: 2, 11: 4, 12: 8}  # by the low half of an encoding; 0: a word
_SIGNED = 8
_FROM_HERE, _FROM_SECTION = 0x10, 0x30  # the high half


def eh_frame_hdr(image: Image) -> SecondReader:
    """The rows of the FDEs that the index names."""
    frames = FrameSection(image, ".eh_frame", True)
    index = _Index(image.sections[".eh_frame_hdr"], image.arch.word)

    def row_at(pc: int) -> SecondRow | NoRow:
        fde = index.fde_for(pc)
        if fde is None:
            return NoRow(f"the first entry of .eh_frame_hdr begins behind {pc:#x}")
        return frames.row_of(frames.place(fde - frames.address), pc)

    return row_at


class _Index:
    """The entries of one index, which stay bytes."""

    def __init__(self, section: Section, word: int) -> None:
        self._section, self._word = section, word
        version, frame, count, self._encoding = section.data[:4]
        if version != 1 or _OMITTED in (count, self._encoding):
            raise ValueError(f"version {version}, or an index without entries")
        at = 4 + (0 if frame == _OMITTED else self._size(frame))
        self._count = self._number(count, at)
        self._first = at + self._size(count)

    def fde_for(self, pc: int) -> int | None:
        """The address of the FDE that the last entry not behind a pc names; None before the first."""
        low, high = 0, self._count
        while low < high:
            middle = (low + high) // 2
            if self._half(2 * middle) <= pc:
                low = middle + 1
            else:
                high = middle
        return self._half(2 * low - 1) if low else None

    def _half(self, number: int) -> int:
        return self._number(self._encoding, self._first + number * self._size(self._encoding))

    def _size(self, encoding: int) -> int:
        return _SIZES[encoding & 0x0F] or self._word

    def _number(self, encoding: int, at: int) -> int:
        size, kind = self._size(encoding), encoding & 0xF0
        if kind not in (0, _FROM_HERE, _FROM_SECTION) or at + size > len(self._section.data):
            raise ValueError(f"an encoding {encoding:#x}, or {size} bytes at {at:#x}")
        value = int.from_bytes(self._section.data[at : at + size], "little", signed=bool(encoding & _SIGNED))
        base = {0: 0, _FROM_HERE: self._section.address + at, _FROM_SECTION: self._section.address}[kind]
        return (value + base) & (1 << 8 * self._word) - 1
