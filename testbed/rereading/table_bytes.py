"""Bytes that are read from front to back: numbers of any width, LEB128, blocks, encoded pointers."""

from __future__ import annotations

from dataclasses import dataclass

_LEB128_BITS = 64
OMITTED = 0xFF  # an encoding of pointers (LSB 5.0 core, section 10.5.1): there is none
_SIZES = {2: 2, 3: 4, 4: 8, 10: 2, 11: 4, 12: 8}  # by the low half of an encoding
_ABSOLUTE, _FROM_HERE = 0, 0x10  # the high half


@dataclass(slots=True)
class TableBytes:
    """The bytes of ``data`` from ``at`` up to ``end``. All reading raises IndexError where they end before."""

    data: bytes
    at: int
    end: int

    @property
    def left(self) -> int:
        return self.end - self.at

    def take(self, size: int) -> bytes:
        if not 0 <= size <= self.left:
            raise IndexError(f"{size} bytes at {self.at:#x}")
        self.at += size
        return self.data[self.at - size : self.at]

    def block(self, size: int) -> TableBytes:
        """So many bytes as a cursor of their own."""
        self.take(size)
        return TableBytes(self.data, self.at - size, self.at)

    def number(self, size: int, is_signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=is_signed)

    def leb128(self, is_signed: bool = False) -> int:
        """Raises ValueError for a number of more than 64 bits, or one that takes more bytes than these."""
        value = shift = 0
        byte = 0x80
        while byte & 0x80:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
        if is_signed and byte & 0x40:
            value -= 1 << shift
        low, high = (-1 << _LEB128_BITS - 1, 1 << _LEB128_BITS - 1) if is_signed else (0, 1 << _LEB128_BITS)
        if not low <= value < high or shift > _LEB128_BITS + 6:
            raise ValueError(f"a LEB128 number of {shift} bits")
        return value

    def operands(self, kinds: str, word: int) -> list[int | bytes]:
        """``u`` and ``s`` are LEB128, ``w`` is a word, ``b`` a block behind its length, a digit so many bytes."""
        return [self._operand(kind, word) for kind in kinds]

    def _operand(self, kind: str, word: int) -> int | bytes:
        if kind in "us":
            return self.leb128(kind == "s")
        if kind == "b":
            return self.take(self.leb128())
        return self.number(word if kind == "w" else int(kind))

    def pointer(self, encoding: int, word: int, address: int) -> int:
        """A pointer; ``address`` is where ``data`` is loaded. One that is stored as zero counts from nothing."""
        here, low, high = address + self.at, encoding & 0x0F, encoding & 0xF0
        if high not in (_ABSOLUTE, _FROM_HERE):
            raise ValueError(f"a pointer's encoding {encoding:#x}")
        value = self.leb128(low > 8) if low in (1, 9) else self.number(_SIZES[low] if low else word, low > 8)
        return (value + (here if high and value else 0)) & (1 << 8 * word) - 1
