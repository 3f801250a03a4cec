"""The first difference is told of what was said when it was judged: asked again, a program may say another thing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import cell_of, cell_of_long
from testbed.campaign.results import Cell
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.report.answers import answers_of
from testbed.runs.judging import judge_all
from testbed.runs.long import judge_long, watch_long
from testbed.runs.run import Run, run_program
from testbed.trace import Snapshot
from testbed.words.errors import ToolHung
from testbed.words.outcome import Outcome


@cache
def run() -> Run:
    return run_program(PROGRAMS["leaf_call"], ARCHES["arm64"])


def lies_and_hangs() -> Unwinder:
    """It claims the root at the first steps that it is asked of, and then gives no answer any more."""
    asked: list[Snapshot] = []

    def unwind(at: Snapshot) -> Backtrace:
        asked.append(at)
        frame = Frame(FrameKind.INTERRUPTED, at.pc, at.registers, found_by="registers")
        stop = None if len(asked) <= 5 else ToolHung("gave no answer")
        return Backtrace((frame,), stop, at.images)

    return Unwinder(name="mine", summary="", unwind=unwind)


def at_once(unwinder: Unwinder) -> Cell:
    return cell_of(run(), unwinder, judge_all(run(), unwinder))


def for_a_page(unwinder: Unwinder) -> Cell:
    (answers,) = answers_of(run(), [unwinder]).each
    return cell_of(run(), unwinder, answers.verdicts)


def in_pieces(unwinder: Unwinder) -> Cell:
    long = watch_long(run().built, budget=1_000_000, chunk=16)
    return cell_of_long(long, unwinder, judge_long(long, [unwinder])[0])


@pytest.mark.parametrize("counted", [at_once, for_a_page, in_pieces])
def test_the_first_lie_is_told_as_it_was_judged(counted: Callable[[Unwinder], Cell]) -> None:
    cell = counted(lies_and_hangs())
    assert cell.outcomes[Outcome.ENDED_EARLY] and cell.outcomes[Outcome.HUNG]
    assert cell.first_lie is not None and cell.first_unexplained is not None
    for first in (cell.first_lie, cell.first_unexplained):
        assert first.outcome is Outcome.ENDED_EARLY
        assert "claims the root: ended_early" in first.seen
