"""Attribute values by their form, read at a place in a section, and DWARF's numbers for tags, attributes and forms.

Source: DWARF 5, sections 7.5.5 and 7.5.6 (forms), 7.26 (string offsets), 7.27 (addresses).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from testbed.image.byte_cursor import ByteCursor
from testbed.image.model import Image
from testbed.words.budget import Account
from testbed.words.errors import DebugInfoError
from testbed.words.printable import printable

# A place in a section of debug information: every read is bounded, every failure names section and offset.
#
# Source: DWARF 5, section 7.4 (offset sizes).


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


# The numbers of DWARF that are used here: tags, attributes, forms. Source: DWARF 5, section 7.5; GNU extensions.


class Tag(IntEnum):
    """What a debugging information entry describes: the tags that are read here (DWARF 5, table 7.3)."""

    COMPILE_UNIT = 0x11
    INLINED_SUBROUTINE = 0x1D
    SUBPROGRAM = 0x2E
    PARTIAL_UNIT = 0x3C
    CALL_SITE = 0x48
    SKELETON_UNIT = 0x4A
    GNU_CALL_SITE = 0x4109


class Attribute(IntEnum):
    """What an attribute of an entry says: those that are read here (DWARF 5, table 7.5)."""

    NAME = 0x03
    STMT_LIST = 0x10
    LOW_PC = 0x11
    HIGH_PC = 0x12
    COMP_DIR = 0x1B
    PRODUCER = 0x25
    ABSTRACT_ORIGIN = 0x31
    CALLING_CONVENTION = 0x36
    DECLARATION = 0x3C
    SPECIFICATION = 0x47
    ENTRY_PC = 0x52
    RANGES = 0x55
    CALL_COLUMN = 0x57
    CALL_FILE = 0x58
    CALL_LINE = 0x59
    LINKAGE_NAME = 0x6E
    STR_OFFSETS_BASE = 0x72
    ADDR_BASE = 0x73
    RNGLISTS_BASE = 0x74
    CALL_ALL_CALLS = 0x7A
    CALL_ALL_SOURCE_CALLS = 0x7B
    CALL_ALL_TAIL_CALLS = 0x7C
    CALL_RETURN_PC = 0x7D
    CALL_ORIGIN = 0x7F
    CALL_PC = 0x81
    CALL_TAIL_CALL = 0x82
    CALL_TARGET = 0x83
    CALL_TARGET_CLOBBERED = 0x84
    MIPS_LINKAGE_NAME = 0x2007
    GNU_CALL_SITE_TARGET = 0x2113
    GNU_CALL_SITE_TARGET_CLOBBERED = 0x2114
    GNU_TAIL_CALL = 0x2115
    GNU_ALL_TAIL_CALL_SITES = 0x2116
    GNU_ALL_CALL_SITES = 0x2117


class Form(IntEnum):
    """How the value of an attribute is encoded (DWARF 5, table 7.6)."""

    ADDR = 0x01
    BLOCK2 = 0x03
    BLOCK4 = 0x04
    DATA2 = 0x05
    DATA4 = 0x06
    DATA8 = 0x07
    STRING = 0x08
    BLOCK = 0x09
    BLOCK1 = 0x0A
    DATA1 = 0x0B
    FLAG = 0x0C
    SDATA = 0x0D
    STRP = 0x0E
    UDATA = 0x0F
    REF_ADDR = 0x10
    REF1 = 0x11
    REF2 = 0x12
    REF4 = 0x13
    REF8 = 0x14
    REF_UDATA = 0x15
    INDIRECT = 0x16
    SEC_OFFSET = 0x17
    EXPRLOC = 0x18
    FLAG_PRESENT = 0x19
    STRX = 0x1A
    ADDRX = 0x1B
    REF_SUP4 = 0x1C
    STRP_SUP = 0x1D
    DATA16 = 0x1E
    LINE_STRP = 0x1F
    REF_SIG8 = 0x20
    IMPLICIT_CONST = 0x21
    LOCLISTX = 0x22
    RNGLISTX = 0x23
    REF_SUP8 = 0x24
    STRX1 = 0x25
    STRX2 = 0x26
    STRX3 = 0x27
    STRX4 = 0x28
    ADDRX1 = 0x29
    ADDRX2 = 0x2A
    ADDRX3 = 0x2B
    ADDRX4 = 0x2C
    GNU_ADDR_INDEX = 0x1F01
    GNU_STR_INDEX = 0x1F02
    GNU_REF_ALT = 0x1F20
    GNU_STRP_ALT = 0x1F21


class UnitType(IntEnum):
    """What a unit of ``.debug_info`` is (DWARF 5, table 7.2): those that are read here."""

    COMPILE = 1
    PARTIAL = 3
    SKELETON = 4
    SPLIT_COMPILE = 5


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """One attribute's value: how it is encoded, and the number, index, offset or bytes that stand there."""

    form: int
    raw: int | bytes


class Sizes(Protocol):
    """What a form's length depends on."""

    version: int
    offset_size: int
    address_size: int


_FIXED = {
    **{form: 1 for form in (Form.DATA1, Form.REF1, Form.FLAG, Form.STRX1, Form.ADDRX1)},
    **{form: 2 for form in (Form.DATA2, Form.REF2, Form.STRX2, Form.ADDRX2)},
    **{form: 3 for form in (Form.STRX3, Form.ADDRX3)},
    **{form: 4 for form in (Form.DATA4, Form.REF4, Form.STRX4, Form.ADDRX4, Form.REF_SUP4)},
    **{form: 8 for form in (Form.DATA8, Form.REF8, Form.REF_SIG8, Form.REF_SUP8)},
}
_ULEB = frozenset(
    (
        *(Form.UDATA, Form.REF_UDATA, Form.STRX, Form.ADDRX, Form.LOCLISTX, Form.RNGLISTX),
        *(Form.GNU_ADDR_INDEX, Form.GNU_STR_INDEX),
    )
)
_OFFSETS = frozenset((Form.STRP, Form.LINE_STRP, Form.SEC_OFFSET, Form.STRP_SUP, Form.GNU_REF_ALT, Form.GNU_STRP_ALT))
_BLOCKS = {Form.BLOCK1: 1, Form.BLOCK2: 2, Form.BLOCK4: 4}


def read_form(at: Cursor, form: int, constant: int, sizes: Sizes) -> AttributeValue:
    """The value of one attribute. Raises DebugInfoError for an unknown form: its length is not known."""
    if form == Form.INDIRECT:
        form = at.uleb()
        if form in (Form.INDIRECT, Form.IMPLICIT_CONST):
            raise at.error(f"an indirect form {form:#x}")
    if (size := _FIXED.get(form)) is not None:  # type: ignore[call-overload]
        return AttributeValue(form, at.unsigned(size))
    if form in _ULEB:
        return AttributeValue(form, at.uleb())
    if form in _OFFSETS:
        return AttributeValue(form, at.unsigned(sizes.offset_size))
    if (size := _BLOCKS.get(form)) is not None:  # type: ignore[call-overload]
        return AttributeValue(form, at.take(at.unsigned(size)))
    return _rare(at, form, constant, sizes)


def _rare(at: Cursor, form: int, constant: int, sizes: Sizes) -> AttributeValue:
    match form:
        case Form.ADDR:
            return AttributeValue(form, at.unsigned(sizes.address_size))
        case Form.REF_ADDR:
            return AttributeValue(form, at.unsigned(sizes.address_size if sizes.version == 2 else sizes.offset_size))
        case Form.FLAG_PRESENT:
            return AttributeValue(form, 1)
        case Form.IMPLICIT_CONST:
            return AttributeValue(form, constant)
        case Form.SDATA:
            return AttributeValue(form, at.sleb())
        case Form.STRING:
            return AttributeValue(form, at.string().encode())
        case Form.BLOCK | Form.EXPRLOC:
            return AttributeValue(form, at.take(at.uleb()))
        case Form.DATA16:
            return AttributeValue(form, at.take(16))
    raise at.error(f"unknown form {form:#x}")


def string_at(image: Image, base: int, index: int, offset_size: int) -> str:
    """A string by its index into ``.debug_str_offsets``."""
    offset = cursor(image, ".debug_str_offsets", base + index * offset_size).unsigned(offset_size)
    return cursor(image, ".debug_str", offset).string()


def address_at(image: Image, base: int, index: int, size: int) -> int:
    """An address by its index into ``.debug_addr``."""
    return cursor(image, ".debug_addr", base + index * size).unsigned(size)


def offset_text(image: Image, value: AttributeValue) -> str | None:
    """A string by its offset; None for a form that is no string here (another file's, or no string at all)."""
    assert isinstance(value.raw, int)
    match value.form:
        case Form.STRP:
            return cursor(image, ".debug_str", value.raw).string()
        case Form.LINE_STRP:
            return cursor(image, ".debug_line_str", value.raw).string()
    return None
