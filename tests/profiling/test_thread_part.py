"""A part of a thread of a long process says of each of its steps what the whole thread does."""

from itertools import pairwise

import numpy as np
import pytest

from testbed.process import ProcessRun
from testbed.process.process_run import LongProcess, run_in_pieces
from testbed.profiling.judge import watch_process
from testbed.profiling.thread_run import ThreadRun, part_at, part_of_own_code, thread_at, thread_run
from testbed.report.answers import answers_of
from testbed.report.step_lines import marks_of
from testbed.trace.trace import CHUNK
from tests.process.builds import built, ran
from unwinders import UNWINDERS

TARGETS = ("x86_64", "arm64", "thumb")


def whole_and_pieces(target: str) -> tuple[ProcessRun, LongProcess]:
    path = built("hello", target, "dynamic")
    return ran("hello", target, "dynamic", "abc"), run_in_pieces(path, ("abc",), budget=10**6, piece=1000)


def said(run: ThreadRun, rows: range, unwinder: str) -> list[tuple[object, ...]]:
    """What is true, and how an unwinder is judged, at some rows."""
    answers = answers_of(run, [UNWINDERS[unwinder]], natively=True)
    marks, watched = marks_of(answers.each[0].verdicts), run.watched
    stacks = (run.truth(row) for row in rows)
    return [
        (run.number_of(row), stack.pcs, int(marks[row]), bool(watched.undecided[row]))
        for row, stack in zip(rows, stacks, strict=True)
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_a_part_is_the_same_steps_of_the_thread_from_its_own_code_on(target: str) -> None:
    run, long = whole_and_pieces(target)
    process = watch_process(run)
    whole, part = thread_run(run, process.threads[0]), part_of_own_code(long, 3000, lambda done: None)
    shown = part.shown
    assert 2000 <= len(shown) <= 3000 and part.steps == whole.steps > 10 * len(shown)
    first = part.number_of(shown.start)
    assert not whole.own[:first].any() and part.own[shown.start : shown.start + 1000].any()
    assert not (part.own[: shown.start].any() or part.own[shown.stop :].any())
    same = range(first, first + len(shown))
    for unwinder in ("fp_chain", "ehabi" if target == "thumb" else "eh_frame"):
        assert said(part, shown, unwinder) == said(whole, same, unwinder)
    phases = (part.watched.sites.transition, whole.watched.sites.transition)
    assert np.array_equal(phases[0][shown.start : shown.stop], phases[1][same.start : same.stop])
    assert all(phases[0][: shown.start]) and all(phases[0][shown.stop :]), "nobody is judged at other rows"


@pytest.mark.parametrize("target", TARGETS)
def test_a_place_is_the_same_one_in_a_part(target: str) -> None:
    run, long = whole_and_pieces(target)
    process = watch_process(run)
    for place in ("main", "malloc", "main+0x4", "@0", "@777", f"@{run.steps - 1}"):
        (whole, row), (part, at) = thread_at(process, place), part_at(long, place, lambda done: None, CHUNK)
        assert whole.number_of(row) == part.number_of(at) and str(whole) == str(part)
        assert whole.truth(row).pcs == part.truth(at).pcs, place
        assert part.words(at) <= whole.words(row), "of an activation that leaves the part, no phase is told"


def test_progress_is_of_two_passes() -> None:
    _, long = whole_and_pieces("x86_64")
    told: list[int] = []
    part_of_own_code(long, 3000, told.append)
    assert all(a <= b for a, b in pairwise(told)) and long.run.steps < told[-1] <= 2 * long.run.steps
