"""A place in a section of debug information: every read is bounded, every failure names section and offset.

Source: DWARF 5, section 7.4 (offset sizes).
"""

from __future__ import annotations

from testbed.image.byte_cursor import ByteCursor
from testbed.image.model import Image
from testbed.words.budget import Account
from testbed.words.errors import DebugInfoError
from testbed.words.printable import printable


class Cursor(ByteCursor):
    """Reads forward in a section; raises DebugInfoError, with the section and the offset, instead of leaving it."""

    leb_bits = 128

    def __init__(self, path: str, section: str, data: bytes, offset: int, end: int, account: Account) -> None:
        super().__init__(data, offset, end)
        self.path, self.section, self.account = path, section, account
        if not 0 <= offset <= end <= len(data):
            raise self.error(f"this place is not in its {len(data)} bytes")

    def error(self, detail: str, at: int | None = None) -> DebugInfoError:
        return DebugInfoError(self.path, self.section, self.offset if at is None else at, detail)

    def string(self) -> str:
        stop = self.data.find(b"\0", self.offset, self.end)
        if stop < 0:
            raise self.error("a string without an end")
        self.account.spend("unpacked", stop - self.offset, self.offset)
        out = printable(self.data[self.offset : stop].decode("utf-8", "replace"))
        self.offset = stop + 1
        return out

    def initial_length(self) -> tuple[int, int]:
        """(the end of what follows, the size of offsets in it: 4 or 8)."""
        start = self.offset
        length, size = self.unsigned(4), 4
        if length == 0xFFFFFFFF:
            length, size = self.unsigned(8), 8
        elif length >= 0xFFFFFFF0:
            raise self.error(f"reserved length {length:#x}", start)
        if self.offset + length > self.end:
            raise self.error(f"its length {length:#x} reaches past the end of the section", start)
        return self.offset + length, size


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
