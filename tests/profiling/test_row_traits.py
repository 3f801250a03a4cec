"""What is special about a row, read from its table: for tools that cannot say it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from testbed.contract.rows import AtCfa, AtExpression, RegisterPlus, RowTable, Rule, SameValue, Undefined, UnwindRow
from testbed.profiling.judge import traits_of_row
from testbed.words.traits import Trait


def row(start: int, end: int, registers: Mapping[str, Rule], cfa: Rule | None = None) -> UnwindRow:
    return UnwindRow(start, end, cfa or RegisterPlus("sp", 16), registers, "x30")


def table(*rows: UnwindRow, entries: tuple[tuple[int, int, int], ...]) -> RowTable:
    return RowTable(".eh_frame", rows, entries=entries)


SAVED: Mapping[str, Rule] = {"x19": AtCfa(-16), "x30": AtCfa(-8)}


@pytest.mark.parametrize(
    ("now", "taken_back"),
    [
        (SAVED, False),
        ({"x30": AtCfa(-8)}, True),
        ({**SAVED, "x19": SameValue()}, True),
        ({**SAVED, "x19": Undefined()}, True),
        ({**SAVED, "x20": AtCfa(-24)}, False),
    ],
)
def test_a_rule_that_is_gone_again_is_taken_back(now: Mapping[str, Rule], taken_back: bool) -> None:
    rows = table(row(0, 4, {}), row(4, 8, SAVED), row(8, 12, now), entries=((0, 12, 0),))
    assert (Trait.TAKEN_BACK in traits_of_row(rows, 8)) is taken_back
    assert traits_of_row(rows, 4) == frozenset(), "it is there"
    assert traits_of_row(rows, 12) == frozenset(), "no row"


def test_a_register_that_is_lost_behind_the_first_row_is_taken_back() -> None:
    """glibc's `_start` says so of the return address behind its first instruction."""
    rows = table(row(0, 4, {}), row(4, 8, {"x30": Undefined()}), entries=((0, 8, 0),))
    assert traits_of_row(rows, 4) == {Trait.TAKEN_BACK}
    assert traits_of_row(table(row(0, 8, {"x30": Undefined()}), entries=((0, 8, 0),)), 4) == frozenset()


def test_what_another_function_saves_is_not_taken_back() -> None:
    rows = table(row(0, 4, {}), row(4, 8, SAVED), row(8, 12, {}), entries=((0, 8, 0), (8, 12, 1)))
    assert traits_of_row(rows, 8) == frozenset()


def test_an_entry_is_lost_where_one_that_stands_before_it_begins_at_its_end() -> None:
    rows = (row(0, 8, {}), row(8, 12, {}))
    assert traits_of_row(table(*rows, entries=((0, 8, 1), (8, 12, 0))), 4) == {Trait.ENTRY_LOST}
    assert traits_of_row(table(*rows, entries=((0, 8, 1), (8, 12, 0))), 8) == frozenset()
    assert traits_of_row(table(*rows, entries=((0, 8, 0), (8, 12, 1))), 4) == frozenset(), "in their order"
    assert traits_of_row(table(*rows, entries=((0, 7, 1), (8, 12, 0))), 4) == frozenset(), "something lies between"


def test_an_expression_is_inexpressible() -> None:
    assert traits_of_row(table(row(0, 4, {"x19": AtExpression(())}), entries=()), 0) == {Trait.INEXPRESSIBLE}
    assert traits_of_row(table(row(0, 4, {}, AtExpression(())), entries=()), 0) == {Trait.INEXPRESSIBLE}
