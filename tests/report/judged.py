"""Runs with everything that was said about them, made once for the tests of the pages."""

from __future__ import annotations

from functools import cache

import testbed
from testbed.campaign.cells import cell_of
from testbed.campaign.results import Cell
from testbed.report.answers import Answers, answers_of
from testbed.runs.run import Run
from unwinders import UNWINDERS

# What a page shows of these is known by heart; strategies come and go.
SOME = ("fp_chain", "fp_chain_entry", "eh_frame", "eh_frame_hdr", "debug_frame", "ehabi")


@cache
def judged(
    program: str, arch: str, recipe: str | None = None, names: tuple[str, ...] = SOME
) -> tuple[Run, Answers, tuple[Cell, ...]]:
    run = testbed.run(program, arch=arch, recipe=recipe)
    applicable = [u for u in UNWINDERS.values() if u.name in names and u.applies_to(run.built.image)]
    answers = answers_of(run, applicable)
    return run, answers, tuple(cell_of(run, each.unwinder, each.verdicts) for each in answers.each)
