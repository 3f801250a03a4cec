"""One question for all formats: what does this table say at this pc? Each table is indexed once, each row read once."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError

from testbed.image import Image
from testbed.rereading.compact_unwind import compact_unwind
from testbed.rereading.dwarf import SecondReader, debug_frame, eh_frame
from testbed.rereading.eh_frame_hdr import eh_frame_hdr
from testbed.rereading.ehabi import exidx
from testbed.rereading.gopclntab import gopclntab
from testbed.rereading.orc import orc
from testbed.rereading.rows import NoRow, SecondRow
from testbed.rereading.sframe import sframe

# By the section that a technique is named after: how its table is opened.
FORMATS: Mapping[str, Callable[[Image], SecondReader]] = {
    ".eh_frame": eh_frame,
    ".eh_frame_hdr": eh_frame_hdr,
    ".debug_frame": debug_frame,
    ".ARM.exidx": exidx,
    ".sframe": sframe,
    ".orc_unwind": orc,
    "__compact_unwind": compact_unwind,
    ".gopclntab": gopclntab,
}
# What pyelftools, and the lines of this room, stumble over in damaged bytes.
_DAMAGED = (
    *(ELFError, ConstructError, struct.error, ArithmeticError, AssertionError, AttributeError, LookupError),
    *(TypeError, ValueError),
)


def reread(image: Image, format: str, pc: int) -> SecondRow | NoRow:
    """The row of a table at a link-time pc, which for a caller is the one that it looks up (of its call).

    ``format`` is one of `FORMATS`. The row is the one that this table's readers must come to: of ``.eh_frame`` and
    ``.debug_frame`` by the first FDE that covers the pc, of ``.eh_frame_hdr`` by the FDE that the index names for it.
    """
    return _table(image, format)(pc)


@lru_cache(maxsize=64)
def _table(image: Image, format: str) -> SecondReader:
    """A table that is open, and what it said so far."""
    if format not in FORMATS:
        raise ValueError(f"no second reader of {format!r}, only of {', '.join(FORMATS)}")
    try:
        row_at = FORMATS[format](image)
    except KeyError as error:
        said = NoRow(f"the file has no section {error.args[0]}")
        return lambda pc: said
    except _DAMAGED as error:
        broken = _unreadable(format, error)
        return lambda pc: broken

    def told(pc: int) -> SecondRow | NoRow:
        try:
            return row_at(pc)
        except _DAMAGED as error:
            return _unreadable(format, error)

    return lru_cache(maxsize=1 << 16)(told)


def _unreadable(format: str, error: Exception) -> NoRow:
    return NoRow(f"the second reader cannot read {format}: {error or type(error).__name__}")
