"""What the rows of a function say, as tests write it: at its offsets the CFA and registers, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from testbed.contract.rows import RegisterPlus, Rule
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis.prologue_analysis import row_at

Code = str | bytes
Symbols = tuple[tuple[str, int, int], ...]  # name, offset, size; none: one function covers it all
Said = Mapping[int, Mapping[str, Rule | None] | str]


def rsp(distance: int, **registers: Rule | None) -> dict[str, Rule | None]:
    """A row of x86-64 whose CFA counts from rsp."""
    return {"cfa": RegisterPlus("rsp", distance), **registers}


def sp(distance: int, **registers: Rule | None) -> dict[str, Rule | None]:
    return {"cfa": RegisterPlus("sp", distance), **registers}


def cfa(register: str, distance: int) -> dict[str, Rule | None]:
    return {"cfa": RegisterPlus(register, distance)}


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
