"""Deliberate liars on top of every strategy's right answers: each lie is noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.arch import ARCHES
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import HeldTo
from testbed.runs.judging import judge
from testbed.verdicts.assumptions.along import Accord
from testbed.words.errors import NoUnwindInfo
from tests.campaign.shared_runs import runs
from unwinders import UNWINDERS


def always_root(b: Backtrace) -> Backtrace:
    return replace(b, frames=b.frames[:1], stopped=None)


def skips_a_caller(b: Backtrace) -> Backtrace:
    return replace(b, frames=(b.frames[0], *b.frames[2:]))


def invents_a_frame(b: Backtrace) -> Backtrace:
    ghost = replace(b.frames[1], pc=b.frames[1].pc + 4, registers={})
    return replace(b, frames=(b.frames[0], ghost, *b.frames[1:]))


def goes_on_behind_the_root(b: Backtrace) -> Backtrace:
    return replace(b, frames=(*b.frames, replace(b.frames[-1], pc=b.frames[-1].pc + 4, registers={}, cfa=None)))


def off_by_one_word(b: Backtrace) -> Backtrace:
    return replace(b, frames=tuple(replace(f, pc=f.pc + 8) if i else f for i, f in enumerate(b.frames)))


def wrong_cfa(b: Backtrace) -> Backtrace:
    return replace(b, frames=tuple(replace(f, cfa=(f.cfa or 0) + 16) for f in b.frames))


def forgets_the_root(b: Backtrace) -> Backtrace:
    return replace(b, frames=b.frames[:-1], stopped=None)


def refuses(b: Backtrace) -> Backtrace:
    return Backtrace(b.frames[:1], NoUnwindInfo("no row"))


def says_nothing(b: Backtrace) -> Backtrace:
    return replace(b, frames=())


LIARS = (
    *(always_root, skips_a_caller, invents_a_frame, goes_on_behind_the_root, off_by_one_word, wrong_cfa),
    *(forgets_the_root, refuses, says_nothing),
)
ASSUMED = [name for name, unwinder in UNWINDERS.items() if unwinder.held_to is HeldTo.ASSUMPTION]


@pytest.mark.parametrize("name", ASSUMED)
def test_a_liar_on_top_of_a_right_answer_is_noticed(name: str) -> None:
    """At sites where the strategy tells the whole truth; being right without the assumption is hardly ever seen."""
    unwinder, right, luck = UNWINDERS[name], 0, 0
    for arch in ARCHES:
        for run in runs(arch):
            if not unwinder.applies_to(run.built.image):
                continue
            for step in range(0, len(run), 9):
                said = unwinder.unwind(run[step])
                verdict = judge(run, step, said, unwinder)
                if verdict.transition or not verdict.exact or len(said.frames) < 2:
                    continue
                right, luck = right + 1, luck + (verdict.accord is Accord.LUCK)
                for liar in LIARS:
                    lie = judge(run, step, liar(said), unwinder)
                    assert not lie.exact, liar.__name__
                    assert lie.unexplained or verdict.accord is Accord.LUCK, f"{liar.__name__}: {run}, step {step}"
    assert luck <= right / 50, f"of {right} right answers {luck} are luck"
