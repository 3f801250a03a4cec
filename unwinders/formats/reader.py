"""A cursor over the bytes of one unwind section that cannot run away: every mistake is a MalformedTable."""

from __future__ import annotations

from testbed.image import Image, Section
from testbed.image.byte_cursor import ByteCursor
from testbed.words.budget import Account
from testbed.words.errors import BudgetExceeded, MalformedTable, TableTooCostly

# DW_EH_PE pointer encodings (LSB 5.0 core, section 10.5.1): the low nibble is the format, bits 4-6 say to what
# the value is relative, bit 7 that it is the address of the pointer.
ABSOLUTE, OMIT, INDIRECT = 0x00, 0xFF, 0x80
FORMAT, _RELATIVE = 0x0F, 0x70
_WORD, _ULEB, _SLEB = 0x00, 0x01, 0x09
_FIXED = {0x02: (2, False), 0x03: (4, False), 0x04: (8, False), 0x0A: (2, True), 0x0B: (4, True), 0x0C: (8, True)}
_PCREL, _DATAREL = 0x10, 0x30


def reader_of(image: Image, section: Section, name: str | None = None, offset: int = 0) -> Reader:
    """A cursor over a section of an image, which draws on the image's account; ``name``: what errors call it."""
    name = name or section.name
    return Reader(name, section.address, section.data, offset, account=image.account.share(name))


class Reader(ByteCursor):
    """Reads a part of ``section``, which is loaded at ``address``; errors are MalformedTable, with section and offset.

    ``account`` is what reading the section draws on: that of its image, without one an account of its own.
    """

    def __init__(
        self,
        section: str,
        address: int,
        data: bytes,
        offset: int = 0,
        end: int | None = None,
        *,
        account: Account | None = None,
    ) -> None:
        super().__init__(data, offset, len(data) if end is None else end)
        self.section, self.address = section, address
        self.account = account or Account(section, len(data))

    def part(self, offset: int, end: int) -> Reader:
        """A cursor over ``[offset, end)`` of the same section."""
        if not 0 <= offset <= end <= len(self.data):
            raise self.error(f"the range {offset:#x} to {end:#x} is not inside the section", at=offset)
        return Reader(self.section, self.address, self.data, offset, end, account=self.account)

    def spend(self, kind: str, amount: int = 1) -> None:
        """So much more of the file's budget. Raises TableTooCostly, a MalformedTable, where that is too much."""
        try:
            self.account.spend(kind, amount, self.offset)
        except BudgetExceeded as why:
            raise TableTooCostly(self.section, self.offset, why) from why

    def error(self, detail: str, at: int | None = None) -> MalformedTable:
        return MalformedTable(self.section, self.offset if at is None else at, detail)

    def string(self) -> str:
        """Bytes up to a zero, as ASCII."""
        stop = self.data.find(b"\0", self.offset, self.end)
        if stop < 0:
            raise self.error("a string has no end")
        start = self.offset
        try:
            return self.take(stop - self.offset + 1)[:-1].decode("ascii")
        except UnicodeDecodeError as error:
            raise self.error("a string is not ASCII", at=start) from error

    def pointer(self, encoding: int, word: int, *, data_base: int | None = None) -> int | None:
        """A pointer encoded as ``encoding`` says; None for DW_EH_PE_omit. Wraps at the word.

        A stored zero is a null pointer whatever it would be relative to, as GCC's unwinder has it: that is how
        linkers mark what they removed. Whether the result is the pointer or its address (DW_EH_PE_indirect) is
        the caller's to ask.
        """
        if encoding == OMIT:
            return None
        start = self.offset
        form = encoding & FORMAT
        if form == _WORD:
            value = self.unsigned(word)
        elif form == _ULEB:
            value = self.uleb()
        elif form == _SLEB:
            value = self.sleb()
        elif form in _FIXED:
            size, is_signed = _FIXED[form]
            value = self.signed(size) if is_signed else self.unsigned(size)
        else:
            raise self.error(f"the format of pointer encoding {encoding:#x} does not exist", at=start)
        relative = encoding & _RELATIVE
        if relative == _PCREL:
            base = self.address + start
        elif relative == _DATAREL and data_base is not None:
            base = data_base
        elif relative == ABSOLUTE:
            base = 0
        else:
            raise self.error(f"pointer encoding {encoding:#x} is relative to something that a file lacks", at=start)
        return (value + base if value else 0) & ((1 << (8 * word)) - 1)
