"""A run on the terminal: columns, widths, long runs, the last sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import cell_of
from testbed.campaign.results import Difference
from testbed.report.run_text import run_page
from testbed.report.step_lines import TRANSITION, Judged, StepLines, differing, first_visits, mark_columns
from testbed.runs.judging import judge_all
from testbed.runs.run import Run, run_program
from testbed.verdicts.assumptions.along import Accord
from testbed.verdicts.counts import OUTCOMES, SiteKind
from testbed.verdicts.trace import EXACT
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS


@cache
def judged(program: str, arch: str, names: tuple[str, ...], natively: bool | None = None) -> tuple[Run, Judged]:
    run = run_program(PROGRAMS[program], ARCHES[arch])
    made = [(name, judge_all(run, UNWINDERS[name], natively=natively)) for name in names]
    return run, [(cell_of(run, UNWINDERS[name], verdicts), verdicts) for name, verdicts in made]


ALL = ("fp_chain", "fp_chain_entry", "lr_leaf", "eh_frame", "sframe", "stack_scan", "stack_scan_breakpad")


def shown(page: object, width: int = 100) -> str:
    text = StringIO()
    Console(file=text, width=width, highlight=False, markup=False).print(page)
    return text.getvalue()


def test_each_mark_stands_below_the_end_of_its_strategys_line() -> None:
    run, verdicts = judged("leaf_call", "arm64", ALL)
    lines = shown(StepLines(run, mark_columns(verdicts), range(len(run)))).splitlines()
    at = {name: line.index("┌") for line in lines if "┌" in line for name in line.split("┌")[1].split(", ")}
    places = {name.strip(): place for name, place in at.items()}
    assert places.keys() == set(ALL) and places["eh_frame"] == places["lr_leaf"] == places["sframe"]
    for cell, by_step in verdicts:
        for step, verdict in enumerate(by_step):
            (line,) = [line for line in lines if re.match(rf" *{step}  ", line)]
            assert line[places[cell.unwinder]] == verdict.outcome.mark, (cell.unwinder, step)


@pytest.mark.parametrize("width", [30, 40, 60, 100])
def test_no_sum_is_left_out_however_narrow_it_is(width: int) -> None:
    run, verdicts = judged("leaf_call", "arm64", ALL)
    words = " ".join(shown(run_page(run, verdicts), width).split())
    for cell, _ in verdicts:
        stops = cell.sites - cell.exact - cell.lying
        numbers = rf"(exact )?{cell.exact},? (honest stops )?{stops},? (lies )?{cell.lying},? (exact of all )?\d"
        assert re.search(rf"{cell.unwinder}:? {numbers}", words), cell.unwinder


def test_a_crash_is_no_honest_stop() -> None:
    run, ((cell, verdicts),) = judged("leaf_call", "arm64", ("eh_frame",))
    dead = {Outcome.STOPPED: 2, Outcome.CRASHED: 2, Outcome.HUNG: 1}
    kinds = {SiteKind(Outcome.EXACT): 20, **{SiteKind(outcome, Accord.FAILS, "row"): n for outcome, n in dead.items()}}
    first = Difference(3, "main", Outcome.CRASHED, "NO_CODE", "seen.", "because")
    text = shown(run_page(run, [(replace(cell, kinds=kinds, first=first), verdicts)]))
    assert re.search(r"exact  honest stops  no answer  lies", text)
    assert re.search(r"^eh_frame +20 +2 +3 +0 ", text, re.M)
    assert "eh_frame crashes first" in text and "nobody lies, and eh_frame gives no answer at 3." in text
    assert "no answer" not in shown(run_page(run, [(cell, verdicts)]))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_mark_is_lost_in_a_narrow_terminal_and_what_is_left_out_is_said(width: int) -> None:
    image = judged("leaf_call", "arm64", ())[0].built.image
    run, verdicts = judged("leaf_call", "arm64", tuple(u.name for u in UNWINDERS.values() if u.applies_to(image)))
    columns = mark_columns(verdicts)
    text = shown(StepLines(run, columns, range(len(run))), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    rows = [match[1] for line in lines if (match := re.match(r" *11  ((?:\S[ ?])*)", line))]  # one in every block
    marks = "".join(rows).replace(" ", "")
    assert marks == "".join(OUTCOMES[int(column.marks[11])].mark for column in columns)
    assert bool(re.search(r"  fp$", text, re.M)) != ("left out" in text)


def test_columns_are_the_same_from_objects_and_from_arrays() -> None:
    names = ("fp_chain", "eh_frame", "prologue_analysis")
    plain, native = judged("recursion", "x86_64", names, False)[1], judged("recursion", "x86_64", names, True)[1]
    for one, other in zip(mark_columns(plain), mark_columns(native), strict=True):
        assert one.names == other.names and np.array_equal(one.marks, other.marks)


def test_a_long_run_shows_each_differing_instruction_once_with_its_count() -> None:
    run, verdicts = judged("recursion", "x86_64", ("fp_chain", "eh_frame"))
    assert len(run) > 200
    columns = mark_columns(verdicts)
    steps = differing(columns)
    visits = first_visits(run, columns, steps)
    assert sum(visits.values()) == len(steps) and set(visits) <= set(steps.tolist())
    kinds = {(int(run.trace.pc[step]), *(int(column.marks[step]) for column in columns)) for step in steps.tolist()}
    assert len(kinds) == len(visits)
    others = sorted(set(range(len(run))) - set(steps.tolist()))
    assert all(np.all((column.marks[others] == EXACT) | (column.marks[others] >= TRANSITION)) for column in columns)
    text = shown(run_page(run, verdicts))
    assert f"the first 40 of the {len(visits)} instructions" in text and f"{len(steps):,} in all" in text
    every = shown(run_page(run, verdicts, every_step=True))
    assert len(re.findall(r"^ *\d+  [^ ]", every, re.M)) == len(run)
