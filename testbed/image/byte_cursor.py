"""A place in bytes that somebody else wrote: what is read does not leave them."""

from __future__ import annotations

from typing import ClassVar


class ByteCursor:
    """Little-endian reads of ``data[offset:end]``, one after the other.

    Every read raises `error` where the bytes end too early, and for a LEB128 number (DWARF 5, section 7.6) of more than
    ``leb_bits``.
    """

    leb_bits: ClassVar[int] = 64

    def __init__(self, data: bytes, offset: int, end: int) -> None:
        self.data, self.offset, self.end = data, offset, end

    def error(self, detail: str, at: int | None = None) -> Exception:
        """The error to raise for the bytes at ``at`` (default: where the cursor stands)."""
        raise NotImplementedError

    @property
    def left(self) -> int:
        return self.end - self.offset

    def take(self, size: int) -> bytes:
        if size < 0 or size > self.end - self.offset:
            raise self.error(f"{size} bytes are needed, {self.left} are left")
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def signed(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little", signed=True)

    def uleb(self) -> int:
        """An unsigned LEB128 number."""
        if self.offset < self.end and (byte := self.data[self.offset]) < 0x80:  # most are of one byte
            self.offset += 1
            return byte
        start = self.offset
        value, width = self._leb()
        if value >> self.leb_bits:
            raise self.error(f"a LEB128 number of {width} bits does not fit {self.leb_bits}", start)
        return value

    def sleb(self) -> int:
        """A signed LEB128 number."""
        start = self.offset
        value, width = self._leb()
        if value >> (width - 1):  # bit 6 of the last byte is the sign
            value -= 1 << width
        if not -1 << self.leb_bits - 1 <= value < 1 << self.leb_bits - 1:
            raise self.error(f"a LEB128 number of {width} bits does not fit {self.leb_bits}", start)
        return value

    def _leb(self) -> tuple[int, int]:
        """The bits of one LEB128 number, and how many there are."""
        start, value, most = self.offset, 0, -(-self.leb_bits // 7)
        for i in range(most):
            byte = self.unsigned(1)
            value |= (byte & 0x7F) << (7 * i)
            if not byte & 0x80:
                return value, 7 * (i + 1)
        raise self.error(f"a LEB128 number has more than {most} bytes", start)
