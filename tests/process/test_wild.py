"""Programs that want too much: each ends by itself, by a signal, or by its budget, and reaches nothing outside."""

from __future__ import annotations

import signal

import pytest

from testbed.process import run_process
from tests.process.builds import built

BUDGET = 60_000
NOTHING = "-1 No such file or directory\n"


@pytest.mark.parametrize(
    ("what", "printed"),
    [
        ("memory", 2 * NOTHING),
        ("children", "Function not implemented\n"),
        ("links", NOTHING),
        ("mapping", "Cannot allocate memory\n"),
        ("sparse", "-1 No space left on device\n"),
    ],
)
def test_what_would_reach_or_take_too_much_is_refused(what: str, printed: str) -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), [what], budget=BUDGET)
    assert (run.stdout.decode(), run.status) == (printed, 0)


def test_endless_recursion_ends_at_the_end_of_the_stack() -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["recursion"], budget=BUDGET)
    assert run.signal == signal.SIGSEGV and "not mapped" in run.ending
    assert run.steps < BUDGET and len(run.tracks[0].trace) == run.steps


def test_an_endless_loop_ends_with_its_budget() -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["loop"], budget=BUDGET)
    assert run.status is None and run.steps == BUDGET and "steps are used up" in run.ending
