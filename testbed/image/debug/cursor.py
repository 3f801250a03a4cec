"""A place in a section of debug information: every read is bounded, every failure names section and offset.

Source: DWARF 5, section 7.4 (offset sizes), 7.6 (LEB128).
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.image.model import Image
from testbed.words.budget import Account
from testbed.words.errors import DebugInfoError
from testbed.words.printable import printable

_LEB_BYTES = 19  # of a 128-bit value; more is damage


@dataclass(slots=True)
class Cursor:
    """Reads forward in ``data[at:end]``; raises DebugInfoError instead of leaving it."""

    path: str
    section: str
    data: bytes
    at: int
    end: int
    account: Account

    def __post_init__(self) -> None:
        if not 0 <= self.at <= self.end <= len(self.data):
            raise DebugInfoError(self.path, self.section, self.at, f"this place is not in its {len(self.data)} bytes")

    def error(self, detail: str, at: int | None = None) -> DebugInfoError:
        return DebugInfoError(self.path, self.section, self.at if at is None else at, detail)

    @property
    def done(self) -> bool:
        return self.at >= self.end

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > self.end:
            raise self.error(f"{count} bytes wanted, {self.end - self.at} left")
        out = self.data[self.at : self.at + count]
        self.at += count
        return out

    def unsigned(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def signed(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little", signed=True)

    def uleb(self) -> int:
        if self.at < self.end and (byte := self.data[self.at]) < 0x80:  # most are of one byte
            self.at += 1
            return byte
        value = 0
        for i in range(_LEB_BYTES):
            byte = self.unsigned(1)
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return value
        raise self.error(f"a LEB128 number of more than {_LEB_BYTES} bytes")

    def sleb(self) -> int:
        value = 0
        for i in range(_LEB_BYTES):
            byte = self.unsigned(1)
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return value - (1 << (7 * i + 7)) if byte & 0x40 else value
        raise self.error(f"a LEB128 number of more than {_LEB_BYTES} bytes")

    def string(self) -> str:
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise self.error("a string without an end")
        self.account.spend("unpacked", stop - self.at, self.at)
        out = printable(self.data[self.at : stop].decode("utf-8", "replace"))
        self.at = stop + 1
        return out

    def initial_length(self) -> tuple[int, int]:
        """(the end of what follows, the size of offsets in it: 4 or 8)."""
        start = self.at
        length, size = self.unsigned(4), 4
        if length == 0xFFFFFFFF:
            length, size = self.unsigned(8), 8
        elif length >= 0xFFFFFFF0:
            raise self.error(f"reserved length {length:#x}", start)
        if self.at + length > self.end:
            raise self.error(f"its length {length:#x} reaches past the end of the section", start)
        return self.at + length, size


def cursor(image: Image, section: str, at: int = 0, end: int | None = None) -> Cursor:
    """A cursor into a section of an image; a Mach-O file's ``__debug_info`` answers to ``.debug_info``.

    Raises DebugInfoError where the section does not exist.
    """
    found = image.sections.get(section) or image.sections.get(_mach_o(section))
    if found is None:
        raise DebugInfoError(image.path.name, section, at, "there is no such section")
    return Cursor(image.path.name, section, found.data, at, len(found.data) if end is None else end, account_of(image))


def account_of(image: Image) -> Account:
    """What reading the debug information of an image draws on."""
    return image.account.share("debug information")


def has(image: Image, section: str) -> bool:
    """True for a file with this section, under its ELF name or its Mach-O name."""
    return section in image.sections or _mach_o(section) in image.sections


def _mach_o(section: str) -> str:
    return "__" + section.removeprefix(".")[:14]  # a Mach-O section name has 16 bytes
