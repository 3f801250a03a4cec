"""One question for all formats: what does this table say at this pc? Each table is indexed once, each row read once."""

from __future__ import annotations

import struct
from functools import lru_cache
from importlib import import_module

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError

from testbed.image import Image
from testbed.rereading.dwarf import SecondReader
from testbed.rereading.rows import NoRow, SecondRow
from testbed.words.table_formats import BY_SECTION

# What pyelftools, and the lines of this room, stumble over in damaged bytes.
_DAMAGED = (
    *(ELFError, ConstructError, struct.error, ArithmeticError, AssertionError, AttributeError, LookupError),
    *(TypeError, ValueError),
)


def reread(image: Image, format: str, pc: int) -> SecondRow | NoRow:
    """The row of a table at a link-time pc, which for a caller is the one that it looks up (of its call).

    ``format`` is a section of `testbed.words.table_formats`. The row is the one that this table's readers must come to:
    of ``.eh_frame`` and ``.debug_frame`` by the first FDE that covers the pc, of ``.eh_frame_hdr`` by the FDE that the
    index names for it.
    """
    return _table(image, format)(pc)


@lru_cache(maxsize=64)
def _table(image: Image, format: str) -> SecondReader:
    """A table that is open, and what it said so far."""
    if format not in BY_SECTION:
        raise ValueError(f"no second reader of {format!r}, only of {', '.join(BY_SECTION)}")
    module, _, name = BY_SECTION[format].second.partition(":")
    opened = getattr(import_module(module), name)
    try:
        row_at: SecondReader = opened(image)
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
