"""The catalogue of strategies, and what each one assumes."""

from __future__ import annotations

import pytest

from testbed.contract.assumption import CLAUSES
from testbed.contract.unwinder import HeldTo, Unwinder
from unwinders import UNWINDERS


def test_the_catalogue_is_in_report_order_under_its_own_names() -> None:
    order = list(UNWINDERS)
    assert order[0] == "fp_chain"
    assert order.index("fp_chain") < order.index("eh_frame") < order.index("stack_scan"), "chains, tables, scans"
    assert all(name == strategy.name and strategy.summary for name, strategy in UNWINDERS.items())


@pytest.mark.parametrize("strategy", UNWINDERS.values(), ids=lambda s: s.name)
def test_every_strategy_states_an_assumption(strategy: Unwinder) -> None:
    assert strategy.assumption is not None
    names = [clause.name for clause in strategy.assumption.clauses]
    assert len(names) == len(set(names)) and set(names) <= CLAUSES.keys()
    assert strategy.held_to is (HeldTo.OPEN if strategy.name == "prologue_analysis" else HeldTo.ASSUMPTION)


def test_a_clause_is_a_sentence_of_its_own() -> None:
    assert all(clause.holds and clause.fails and name == clause.name for name, clause in CLAUSES.items())
    assert len({clause.holds for clause in CLAUSES.values()}) == len(CLAUSES)
