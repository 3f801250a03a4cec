"""Rows that are right where they stand, and false later: a slot that is written over, a signal that no row says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.cli.table_readers import evaluate_rule
from testbed.process import run_process
from testbed.process.pieces import run_in_pieces
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.long import judge_in_pieces
from testbed.profiling.result import StrategyShare
from tests.process.builds import built, ran
from unwinders import UNWINDERS

WRITTEN_OVER = "rbx is at CFA-0x10, written over since the call"
TABLE = UNWINDERS["eh_frame"]


def places(share: StrategyShare, because: str) -> list[tuple[str, int]]:
    return [(place.function, place.lies) for place in share.places if place.because == because]


def test_a_slot_that_a_callee_writes_over_explains_its_callers_frame() -> None:
    process = watch_process(run_process(built("writes_over", "x86_64", "static")))
    share = judge_process(process, TABLE, evaluate=evaluate_rule)
    assert places(share, WRITTEN_OVER) == [("caller", 2)]  # at two instructions the other value lies there
    assert share.unexplained == 0


def test_the_same_in_pieces() -> None:
    long = run_in_pieces(built("writes_over", "x86_64", "static"), budget=100_000, piece=6_000)
    counted, (share,) = judge_in_pieces(long, [TABLE], evaluate=evaluate_rule)
    assert counted.pieces > 1 and places(share, WRITTEN_OVER) == [("caller", 2)] and share.unexplained == 0


def test_a_false_register_whose_slot_is_untouched_stays_unexplained() -> None:
    """An unwinder that leaves a register as it is in the innermost frame cannot hide behind the slot."""
    process = watch_process(run_process(built("writes_over", "x86_64", "static")))
    false = replace(TABLE, unwind_trace=UNWINDERS["fp_chain"].unwind_trace)
    share = judge_process(process, false, evaluate=evaluate_rule)
    assert share.unexplained > 0.9 * share.judged
    assert sum(lies for _, lies in places(share, WRITTEN_OVER)) <= 2


@pytest.mark.parametrize("target", ["a32", "thumb"])
def test_a_table_that_cannot_say_signal_takes_what_it_interrupted_for_a_caller(target: str) -> None:
    process = watch_process(ran("signals", target, "static"))
    share = judge_process(process, UNWINDERS["ehabi"], evaluate=evaluate_rule)
    found = places(share, "the row does not say that a signal interrupted the caller")
    assert {name for name, _ in found} == {"__default_sa_restorer", "__default_rt_sa_restorer"}
    assert sum(lies for _, lies in found) > 10 and share.unexplained == 0
