"""Images of one function, assembled by keystone, and what prologue analysis says of its instructions."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from testbed.arch import ARCHES, Arch, Isa
from testbed.build.keystone import call_keystone, keystone_isa
from testbed.contract.rows import UnwindRow
from testbed.image import Image, Segment, Symbol
from unwinders.analysis.prologue_analysis import row_at

START = 0x1000


def isa_named(name: str) -> tuple[Arch, Isa]:
    """An instruction set and its architecture."""
    return next((arch, isa) for arch in ARCHES.values() for isa in arch.isas if isa.name == name)


@cache
def assembled(isa: str, text: str) -> bytes:
    """Statements, separated by ``;``, as code at START. In a process of its own: keystone reads freed memory."""
    code, refused = call_keystone(keystone_isa(isa_named(isa)[1]), text, START)
    assert code, (text, refused)
    return code


def image_of(isa: str, code: bytes, *functions: tuple[str, int, int], entry: int = 0) -> Image:
    """An image with this code at START; ``functions`` are (name, offset, size), by default one that covers it all."""
    arch, its = isa_named(isa)
    symbols = tuple(
        Symbol(name, START + offset, size, True) for name, offset, size in functions or [("f", 0, len(code))]
    )
    segment = Segment(START, code, len(code), True, False, True)
    return Image(Path("made-up"), arch, entry, (segment,), {}, symbols, ((START, its),))


def row_after(isa: str, text: str, then: str = "nop") -> UnwindRow:
    """The row at the instruction behind ``text``, in a function that goes on with ``then``."""
    code = assembled(isa, text)
    return row_at(image_of(isa, assembled(isa, f"{text};{then}")), START + len(code))


def row_in(isa: str, code: bytes, offset: int) -> UnwindRow:
    """The row at an offset of the function that this code is."""
    return row_at(image_of(isa, code), START + offset)
