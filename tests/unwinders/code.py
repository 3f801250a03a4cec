"""Images of one function, assembled by keystone, and what prologue analysis says of it: rows, or why there is none."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import pytest

from testbed.arch import ARCHES, Arch, Isa
from testbed.build.keystone import call_keystone, keystone_isa
from testbed.contract.rows import RegisterPlus, Rule, UnwindRow
from testbed.image import Image, Segment, Symbol
from testbed.words.errors import NoUnwindInfo
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


Code = str | bytes
Symbols = tuple[tuple[str, int, int], ...]  # name, offset, size; none: one function covers it all
Said = Mapping[int, Mapping[str, Rule | None] | str]


def cfa(register: str, distance: int, **registers: Rule | None) -> dict[str, Rule | None]:
    """A row whose CFA counts from a register."""
    return {"cfa": RegisterPlus(register, distance), **registers}


rsp, sp = partial(cfa, "rsp"), partial(cfa, "sp")


def rows_say(isa: str, parts: Sequence[Code], symbols: Symbols, said: Said) -> None:
    code = b"".join(part if isinstance(part, bytes) else assembled(isa, part) for part in parts)
    image = image_of(isa, code, *symbols)
    for at, known in said.items():
        if isinstance(known, str):
            with pytest.raises(NoUnwindInfo, match=known):
                row_at(image, START + at)
        else:
            row = row_at(image, START + at)
            assert {name: row.cfa if name == "cfa" else row.registers.get(name) for name in known} == known
