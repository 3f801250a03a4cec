"""Threads for a run in pieces: the same verdicts, nothing lost, and what goes wrong in a thread is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import NoReturn

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.units import build_unit, units
from testbed.contract.frames import Backtrace
from testbed.runs.long import WAITING, SideBySide, ahead, judge_long, side_by_side, watch_long
from testbed.trace import Snapshot
from unwinders import UNWINDERS

PIECE = 20  # steps
UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


@pytest.mark.parametrize("arch", ARCHES)
def test_by_threads_the_verdicts_are_the_same(arch: str) -> None:
    for program in ("recursion", "longjmp"):
        built = build_unit(next(u for u in UNITS if u.program == program and u.arch == arch), PROGRAMS)
        judging = [each for each in UNWINDERS.values() if each.applies_to(built.image) and each.unwind_trace][:3]
        alone = watch_long(built, budget=1_000_000, chunk=PIECE, judging=judging)
        expected, firsts = judge_long(alone, judging), list(alone.firsts)
        assert len(firsts) > 2
        run = watch_long(built, budget=1_000_000, chunk=PIECE, judging=judging, jobs=2)
        assert (len(run), run.end, list(run.firsts)) == (len(alone), alone.end, firsts)
        assert run.judged(judging[0]).pieces, "judged on the way"
        assert judge_long(run, judging) == expected, program


def test_what_a_strategy_raises_in_a_thread_ends_the_run() -> None:
    def broken(snapshot: Snapshot) -> Backtrace:
        raise ZeroDivisionError("of this test")

    built = build_unit(next(u for u in UNITS if u.program == "recursion" and u.arch == "arm64"), PROGRAMS)
    unwinder = replace(UNWINDERS["fp_chain"], unwind=broken, unwind_trace=None)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="of this test"):
        watch_long(built, budget=1_000_000, chunk=PIECE, judging=[unwinder], jobs=2)
    assert threading.active_count() == before


def test_items_are_made_one_ahead_and_in_order() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(6):
            made.append(number)
            yield number
        raise KeyError("the end")

    seen, coming = [], ahead(numbers())
    for number in range(6):
        seen.append(next(coming))
        assert len(made) <= number + 2
    assert seen == list(range(6))
    with pytest.raises(KeyError, match="the end"):
        next(coming)


def test_no_more_pieces_wait_than_are_held() -> None:
    go_on = threading.Event()
    done: list[int] = []

    def work(number: int) -> None:
        go_on.wait(60)
        done.append(number)

    with side_by_side() as beside:
        for number in range(WAITING + 1):
            beside.do([lambda number=number: work(number)])  # type: ignore[misc]
        assert not done
        timer = threading.Timer(0.05, go_on.set)
        timer.start()
        beside.do([lambda: work(9)])
        assert 0 in done, "it waited for the first"
        beside.wait()
    assert sorted(done) == [*range(WAITING + 1), 9]


def test_what_has_not_begun_is_given_up() -> None:
    beside, begun, go_on = SideBySide(), threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        go_on.wait(60)

    def second() -> NoReturn:
        raise AssertionError("begun after all")

    beside.do([first, second])
    begun.wait(60)
    threading.Timer(0.05, go_on.set).start()
    beside.end()
    with pytest.raises(CancelledError):
        beside.wait()
