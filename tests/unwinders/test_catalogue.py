"""The catalogue of strategies, and what each one says about its limits."""

from __future__ import annotations

import re

import pytest

from testbed.arch import ARCHES
from testbed.contract.unwinder import Unwinder
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders import UNWINDERS


def test_the_catalogue_is_in_report_order_under_its_own_names() -> None:
    order = list(UNWINDERS)
    assert order[0] == "fp_chain"
    assert order.index("fp_chain") < order.index("eh_frame") < order.index("stack_scan"), "chains, tables, scans"
    assert all(name == strategy.name and strategy.summary for name, strategy in UNWINDERS.items())


@pytest.mark.parametrize("strategy", UNWINDERS.values(), ids=lambda s: s.name)
def test_limits_are_reasoned_and_referenced(strategy: Unwinder) -> None:
    for limit in strategy.limits:
        assert isinstance(limit.trait, Trait)
        assert limit.outcomes
        assert Outcome.EXACT not in limit.outcomes
        assert limit.because.strip()
        assert re.match(r"https://|AAPCS|System V|Arm Architecture Reference Manual", limit.reference), limit
    for arch in ARCHES.values():
        pairs = [(limit.mechanism, outcome) for limit in strategy.limits_on(arch) for outcome in limit.outcomes]
        assert len(pairs) == len(set(pairs)), f"{arch}: two limits for one mechanism and outcome: which one explains?"
