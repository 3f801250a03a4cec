"""The matrix as tests: one per cell, `pytest -k "leaf_call and arm64 and eh_frame"`.

A cell passes when no site is unexplained, and when as many go wrong by each clause as the golden counts say. They
also say which cells there are, so that collecting tests builds nothing; a test holds them to what the unwinders apply
to. `pytest --update-golden tests/campaign/test_matrix.py` writes them anew, with ``-k "golden_counts and leaf_call"``
those of one program: review the diff of tests/golden/summary.txt.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Cell, Unit, cell_of, run_unit, units
from testbed.contract.assumption import CLAUSES
from testbed.runs.run import Run, judge_all
from testbed.words.outcome import Outcome
from tests import corpus, kept_names
from tests.corpus import installed, tools_of
from tests.golden import (
    OURS,
    UPDATE,
    Counts,
    all_cells,
    counted,
    of_program,
    of_unit,
    summary_of,
    tools_of_set,
    write_program,
    write_tools,
)
from unwinders import UNWINDERS

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]
# No program is 1,000 frames deep; no row says a root or a signal where there is none; no function has two CFAs at a pc.
NOT_SHOWN = {"most", "root", "behind", "one CFA"}


def gnu(unit: Unit) -> bool:
    return RECIPES[unit.recipe].tool.gnu


def cells() -> Iterator[Any]:
    for unit in corpus.UNITS:
        there = of_unit(OURS, unit)
        for unwinder in UNWINDERS:
            if unwinder in there:
                yield pytest.param(unit, unwinder, id=f"{unit}-{unwinder}")


@lru_cache(maxsize=3)
def run_of(unit: Unit) -> Run:
    return run_unit(unit, PROGRAMS)


@lru_cache(maxsize=16)
def judged(unit: Unit, name: str) -> Cell | None:
    run = run_of(unit)
    if not UNWINDERS[name].applies_to(run.built.image):
        return None
    return cell_of(run, UNWINDERS[name], judge_all(run, UNWINDERS[name], natively=True), in_words=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The cells as cases of `test_cell`. Those that ``-k`` does not name are not even made: there are very many."""
    if metafunc.function is test_cell:
        config, place = metafunc.config, f"{Path(__file__).relative_to(ROOT)} whole test_cell"
        wanted = [cell for cell in cells() if kept_names.is_wanted(config, f"{place}[{cell.id}]")]
        metafunc.parametrize(("unit", "name"), wanted)


def test_cell(unit: Unit, name: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        pytest.skip("test_golden_counts_of judges all cells of a program and writes them")
    cell = judged(unit, name)
    assert cell is not None, f"the unwinder does not apply to this file any more: {UPDATE}"
    check(cell)
    tools = tools_of_set(OURS).get(unit.arch)
    if gnu(unit) and tools_of(unit) != tools:
        pytest.skip(f"none unexplained; the golden counts are of {tools}, here is {tools_of(unit)}")
    assert counted(cell) == of_unit(OURS, unit)[name], f"what goes wrong has changed: {UPDATE}"


def check(cell: Cell) -> None:
    """What is said at each site of a cell is what the unwinder is held to."""
    assert cell.sites > 0, f"{cell}: nothing was compared"
    first = cell.first_unexplained
    if first is not None:
        unit, step = cell.unit, first.step
        command = f"testbed run {unit.program} -a {unit.arch} -r {unit.recipe} -u {cell.unwinder} --at @{step}"
        pytest.fail(f"{cell.unexplained} sites of {cell} are unexplained. First {first.sentence}\n    {command}", False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_golden_counts_of(program: str, request: pytest.FixtureRequest) -> None:
    """The golden counts of a program have exactly the cells that exist; with --update-golden they are written here.

    Units whose compiler is not installed cannot be looked at; they stay as they are.
    """
    planned = [unit for unit in corpus.UNITS if unit.program == program]
    here = installed(planned)
    if request.config.getoption("--update-golden"):
        update(planned, whole=selected(request.session) >= PROGRAMS.keys())
    for unit in here:
        image = corpus.built(unit.program, unit.arch, unit.recipe).image
        there = {name for name, unwinder in UNWINDERS.items() if unwinder.applies_to(image)}
        assert of_unit(OURS, unit).keys() == there, f"{unit}: {UPDATE}"
    assert of_program(OURS, program).keys() <= {f"{unit.arch}-{unit.recipe}" for unit in planned}, UPDATE


def selected(session: pytest.Session) -> set[str]:
    """The programs whose golden counts this invocation of pytest looks at."""
    function = test_golden_counts_of.__name__
    return {item.callspec.params["program"] for item in session.items if item.name.startswith(f"{function}[")}


def update(planned: list[Unit], *, whole: bool) -> None:
    """Judge and write the units of one program; nothing is written where a site of theirs is unexplained. Counts made
    by other tools are only written for all programs at once: tools.json says one version for all."""
    here = installed(planned)
    cells = {unit: {name: cell for name in UNWINDERS if (cell := judged(unit, name))} for unit in here}
    for cell in (cell for of_one in cells.values() for cell in of_one.values()):
        check(cell)
    now = {**tools_of_set(OURS), **{unit.arch: str(tools_of(unit)) for unit in installed(corpus.UNITS) if gnu(unit)}}
    if now != tools_of_set(OURS):
        assert whole, f"{OURS.tools} names another GCC or binutils: update all programs, {UPDATE}"
        write_tools(OURS, now)
    counts: dict[Unit, dict[str, Counts]] = {
        unit: {name: counted(cell) for name, cell in cells[unit].items()}
        if unit in cells
        else dict(of_unit(OURS, unit))
        for unit in planned
    }
    write_program(OURS, planned[0].program, counts)


def test_what_is_unexplained_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Golden counts of such a cell would be what the next run is held to."""
    unit = Unit("leaf_call", "x86_64", "keystone")
    chain = replace(UNWINDERS["fp_chain"], assumption=None)
    wrong = cell_of(run_of(unit), chain, judge_all(run_of(unit), chain, natively=True))
    monkeypatch.setattr(f"{__name__}.judged", lambda *_: wrong)
    monkeypatch.setattr(f"{__name__}.write_program", lambda *_: pytest.fail("it was written"))
    monkeypatch.setattr(f"{__name__}.write_tools", lambda *_: pytest.fail("it was written"))
    with pytest.raises(pytest.fail.Exception, match="sites of leaf_call-x86_64-keystone-fp_chain are unexplained"):
        update([unit], whole=True)


def test_the_summary_is_the_sum_of_the_programs(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        pytest.skip("written when all tests are through")
    assert OURS.summary.read_text(encoding="utf-8") == summary_of(all_cells(OURS)), UPDATE


def test_every_file_of_golden_counts_is_of_a_program() -> None:
    assert set(OURS.programs()) == set(PROGRAMS), "delete those of programs that are gone, and update"


def test_some_site_shows_each_clause() -> None:
    """A clause that nothing exercises may be an excuse; the golden counts say what occurred."""
    shown: dict[str, set[str]] = {name: set() for name in UNWINDERS}
    for _, name, counts in all_cells(OURS):
        shown[name] |= {pair.rpartition(" ")[0] for pair in counts["failed"]} - {""}
    for name, unwinder in UNWINDERS.items():
        of_form = {clause.name for clause in unwinder.assumption.clauses} if unwinder.assumption else set()
        assert shown[name] <= of_form, name
    assert CLAUSES.keys() - set().union(*shown.values()) == NOT_SHOWN


def test_every_architecture_program_and_recipe_is_in_the_matrix() -> None:
    assert {unit.program for unit in corpus.UNITS} == set(PROGRAMS)
    another = {name for name in RECIPES if name.startswith("clang-other")}
    assert {unit.recipe for unit in corpus.UNITS} == set(RECIPES) - another
    assert {
        unit.recipe for unit in units(PROGRAMS.values(), ARCHES.values(), RECIPES.values(), everything=True)
    } == set(RECIPES)
    assert {unit.arch for unit in corpus.UNITS} == set(ARCHES)
    assert all(outcome.meaning for outcome in Outcome)
