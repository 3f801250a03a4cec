"""Attribute values by their form, and the tables that indexed ones point into.

Source: DWARF 5, sections 7.5.5 and 7.5.6 (forms), 7.26 (string offsets), 7.27 (addresses).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from testbed.image.debug.cursor import Cursor, cursor
from testbed.image.debug.dwarf_numbers import Form
from testbed.image.model import Image


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
