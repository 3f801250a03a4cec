"""Rows that nothing executed beside what the instructions say: only where these say anything."""

from __future__ import annotations

from pathlib import Path

from testbed.arch import ARCHES
from testbed.checks.static_rows import static_function
from testbed.contract.rows import AtCfa, RegisterPlus, RowTable, UnwindRow
from testbed.image import Image

IMAGE = Image(Path("code.so"), ARCHES["x86_64"], 0, (), {}, ())


def row(start: int, end: int, offset: int) -> UnwindRow:
    return UnwindRow(start, end, RegisterPlus("rsp", offset), {"rip": AtCfa(-8)}, "rip")


def said(_: Image, pc: int) -> UnwindRow:
    return row(pc, pc + 1, 8 if pc < 2 else 16)


def test_a_row_that_contradicts_the_instructions_differs() -> None:
    found = static_function(IMAGE, RowTable(".t", (row(0, 8, 8),)), said, (0, 1), {k: 1 for k in range(2, 6)})
    assert sorted(found.differing) == [2, 3, 4, 5]
    assert static_function(IMAGE, RowTable(".t", (row(0, 8, 16),)), said, (0, 1), {2: 1}).agreed == frozenset()


def test_where_nothing_leads_to_an_instruction_those_before_it_say_nothing_of_it() -> None:
    table = RowTable(".t", (row(0, 8, 8),))
    found = static_function(IMAGE, table, said, (0, 1), {k: 1 for k in (2, 3, 5, 6)}, orphans={2})
    assert sorted(found.differing) == [5, 6], "from the next one on that does not follow it"
    right = RowTable(".t", (row(0, 2, 8), row(2, 8, 16)))
    assert static_function(IMAGE, right, said, (0, 1), {2: 1}, orphans={2}).agreed == {2}
