"""What strategies say at every step, kept small: nothing is lost, and the native way says the same."""

from __future__ import annotations

import numpy as np
import pytest

import testbed
from testbed.report.answers import Answers, answers_of
from testbed.runs.run import Run
from unwinders import UNWINDERS


def said(run: Run, answers: Answers) -> list[list[tuple[object, ...]]]:
    return [
        [(*answers.chain(int(node)), float(cfa)) for node, cfa in zip(each.callers, each.cfa, strict=True)]
        for each in answers.each
    ]


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [("callee_saved", "arm64", "keystone"), ("recursion", "x86_64", "clang-O2"), ("leaf_call", "arm32", "keystone")],
)
def test_answers_keep_what_was_said(program: str, arch: str, recipe: str) -> None:
    run = testbed.run(program, arch=arch, recipe=recipe)
    applicable = [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(run.built.image)]
    readably = answers_of(run, applicable, natively=False)
    for each, chains in zip(readably.each, said(run, readably), strict=True):
        for step, (pcs, end, cfa) in enumerate(chains):
            backtrace = each.unwinder.unwind(run[step])
            assert pcs == tuple(frame.pc for frame in backtrace.frames[1:])
            assert end == ("" if backtrace.stopped is None else f"{backtrace.stopped.reason}: {backtrace.stopped}")
            assert cfa == (-1 if backtrace.frames[0].cfa is None else backtrace.frames[0].cfa)
    natively = answers_of(run, applicable, natively=True)
    assert said(run, natively) == said(run, readably)
    for one, other in zip(natively.each, readably.each, strict=True):
        assert one.verdicts == other.verdicts
    assert len(np.unique(np.stack([readably.pc, readably.cfa, readably.outer]), axis=1).T) == len(readably.pc)
