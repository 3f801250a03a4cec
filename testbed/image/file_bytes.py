"""The bytes of a program file, read in place: whatever does not lie in the file is an ImageError with its offset."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from testbed.words.budget import Account
from testbed.words.errors import ImageError
from testbed.words.files import regular_bytes, said
from testbed.words.printable import printable

_LEB_BYTES = 10  # a 64-bit value has no more


def file_content(path: Path) -> bytes:
    """All bytes of a file. Raises ImageError where it cannot be read."""
    try:
        return regular_bytes(path)
    except (OSError, ValueError) as error:
        raise ImageError(path, 0, said(error)) from error


@dataclass(frozen=True, slots=True)
class FileBytes:
    """``data`` is the part of ``path`` that starts at file offset ``start``; offsets below count within that part.

    What is taken of it is spent from ``account``; beyond that, BudgetExceeded.
    """

    path: Path
    data: bytes = field(repr=False)
    start: int
    account: Account = field(repr=False)

    def __len__(self) -> int:
        return len(self.data)

    def error(self, offset: int, detail: str) -> ImageError:
        return ImageError(self.path, self.start + offset, detail)

    def take(self, offset: int, size: int, what: str) -> bytes:
        """``size`` bytes at ``offset``. Raises ImageError where they are not all in the file."""
        if offset < 0 or size < 0 or offset + size > len(self.data):
            raise self.error(offset, f"{what} ({size:#x} bytes) reaches past the end of the file")
        self.account.spend("mapped", size, self.start + offset)
        return self.data[offset : offset + size]

    def unsigned(self, offset: int, size: int, what: str) -> int:
        """A little-endian unsigned integer."""
        return int.from_bytes(self.take(offset, size, what), "little")

    def part(self, offset: int, size: int, what: str) -> Self:
        """A part of this one, with offsets of its own."""
        return type(self)(self.path, self.take(offset, size, what), self.start + offset, self.account)

    def uleb(self, offset: int, what: str) -> tuple[int, int]:
        """An unsigned LEB128 number (DWARF 5, section 7.6), and the offset behind it."""
        value = 0
        for i in range(_LEB_BYTES):
            byte = self.unsigned(offset + i, 1, what)
            value |= (byte & 0x7F) << (7 * i)
            if not byte & 0x80:
                return value, offset + i + 1
        raise self.error(offset, f"{what}: a LEB128 number has more than {_LEB_BYTES} bytes")

    def string(self, offset: int, what: str) -> str:
        """Bytes up to a zero; what is not UTF-8 shows as U+FFFD, and what would move a cursor is spelled out."""
        stop = self.data.find(b"\0", offset) if 0 <= offset < len(self.data) else -1
        if stop < 0:
            raise self.error(offset, f"{what} has no end")
        self.account.spend("unpacked", stop - offset, self.start + offset)
        return printable(self.data[offset:stop].decode("utf-8", "replace"))
