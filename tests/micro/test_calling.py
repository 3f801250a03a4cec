"""Functions called alone: what they return, what they are given, and that nothing of a path is left behind."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.arch import ARCHES
from testbed.micro.calling import Over
from tests.micro.callers import built, called, ready, result

SOURCE = """
extern int elsewhere(int);
extern void abort(void);
static int counted;
int add(int a, int b) { return a + b; }
int first(const int *p) { return *p; }
int count(void) { return ++counted; }
int asks(int a) { return elsewhere(a) + 7; }
int gives_up(int a) { if (a) abort(); return 3; }
int forever(void) { for (;;) ++*(volatile int *)&counted; }
int through(int (*f)(int), int a) { return f(a) + 5; }
"""


@pytest.mark.parametrize("arch", ARCHES)
def test_a_function_is_called_and_comes_back(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    tape = called(caller, "add", 30, 12)
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, 42)


@pytest.mark.parametrize("arch", ARCHES)
def test_memory_is_there_when_it_is_asked_for(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    tape = called(caller, "first", 0x1234_5000)
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, 0)
    assert [page.address for page in caller.forget_asked()] == [0x1234_5000]


@pytest.mark.parametrize("arch", ARCHES)
def test_a_path_leaves_nothing_behind_and_repeats_itself(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    first, second = called(caller, "count"), called(caller, "count")
    assert result(caller.image, first) == result(caller.image, second) == 1
    assert np.array_equal(first.registers, second.registers)
    assert first.writes.step[-1] == len(first) - 1, "the harness's step takes back what was written"


@pytest.mark.parametrize("arch", ARCHES)
def test_an_import_is_answered_and_one_that_never_returns_ends_the_path(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    tape = called(caller, "asks", 5)
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, 7)
    assert called(caller, "gives_up", 1).over is Over.NEVER_RETURNS
    assert called(caller, "gives_up", 0).over is Over.RETURNED


@pytest.mark.parametrize("arch", ARCHES)
def test_a_path_is_bounded_and_a_made_up_function_is_answered(arch: str) -> None:
    caller = ready(built(SOURCE, ".c", arch))
    tape = called(caller, "forever", steps=500)
    assert tape.over is Over.STEPS
    assert len(tape) == 501, "and the harness's own step"
    tape = called(caller, "through", caller.image.arena + 0x40, 1)
    assert (tape.over, result(caller.image, tape)) == (Over.RETURNED, 5)
    assert len(tape.skipped) == 1
