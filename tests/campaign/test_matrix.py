"""The matrix as tests: one per cell, `pytest -k "leaf_call and arm64 and eh_frame"`.

A cell passes when every site is exact or explained by a declared limit, and when how much is explained is what
tests/golden/ says. That file also says which cells there are, so that collecting tests builds nothing; a test holds it
to what the strategies apply to. `pytest --update-golden -n0 tests/campaign/test_matrix.py` writes it anew: review its
diff.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.matrix import Cell, Unit, cell_of, run_unit, units
from testbed.image import Image
from testbed.runs.run import Run, judge_all
from testbed.verdicts.one import Callers
from testbed.words.errors import ToolchainMissing
from testbed.words.outcome import Outcome
from tests.installed import installed, tools_of
from tests.known_failures import KNOWN_FAILURES
from unwinders import UNWINDERS

GOLDEN = Path(__file__).parents[1] / "golden" / "matrix.json"
# The versions of GCC and binutils that made what was counted: {architecture: versions}.
TOOLS = GOLDEN.with_name("tools.json")
UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


@lru_cache(maxsize=1)
def golden() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=1)
def golden_tools() -> Mapping[str, str]:
    loaded: Mapping[str, str] = json.loads(TOOLS.read_text(encoding="utf-8"))
    return loaded


def gnu(unit: Unit) -> bool:
    return RECIPES[unit.recipe].tool.gnu


def cells() -> Iterator[Any]:
    for unit in UNITS:
        for unwinder in UNWINDERS:
            name = f"{unit}-{unwinder}"
            if name in golden():
                marks = [pytest.mark.xfail(reason=KNOWN_FAILURES[name])] if name in KNOWN_FAILURES else []
                yield pytest.param(unit, unwinder, id=name, marks=marks)


@lru_cache(maxsize=3)
def run_of(unit: Unit) -> Run:
    try:
        return run_unit(unit, PROGRAMS)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


@lru_cache(maxsize=16)
def judged(unit: Unit, name: str) -> Cell | None:
    run = run_of(unit)
    if not UNWINDERS[name].applies_to(run.built.image):
        return None
    return cell_of(run, UNWINDERS[name], judge_all(run, UNWINDERS[name]))


def counted(cell: Cell) -> dict[str, Any]:
    """What the golden file keeps of a cell: never a pc."""
    return {
        "sites": cell.sites,
        "exact": cell.exact,
        "transition": cell.transition,
        "callers": [cell.callers.said, cell.callers.true, cell.callers.found],
        "explained": {
            f"{trait.name} {outcome.value}": cell.shown[trait, outcome]
            for trait, outcome in sorted(cell.shown, key=lambda pair: (pair[0].name, pair[1].value))
        },
    }


@pytest.mark.parametrize(("unit", "name"), list(cells()))
def test_cell(unit: Unit, name: str, request: pytest.FixtureRequest) -> None:
    cell = judged(unit, name)
    assert cell is not None, "the strategy does not apply to this file any more: update the golden file"
    assert cell.sites > 0, "nothing was compared"
    assert cell.sites == cell.exact + cell.explained + cell.unexplained + cell.transition
    assert not cell.unexplained, f"{cell.unexplained} unexplained: {cell.first_unexplained}"
    if request.config.getoption("--update-golden"):
        pytest.skip("golden counts are being written by test_golden_counts_are_complete")
    if gnu(unit) and tools_of(unit) != golden_tools()[unit.arch]:
        pytest.skip(f"all explained; the golden counts are of {golden_tools()[unit.arch]}, here is {tools_of(unit)}")
    assert counted(cell) == golden()[str(cell)], "how much is explained has changed: review the golden diff"


def test_golden_counts_are_complete(request: pytest.FixtureRequest) -> None:
    """The golden file has exactly the cells that exist; with --update-golden it is written here.

    Cells whose compiler is not installed cannot be looked at; they stay as they are.
    """
    here = installed(UNITS)
    missing = [str(unit) for unit in UNITS if unit not in set(here)]

    def left(name: str) -> bool:
        return name.rpartition("-")[0] in missing

    if request.config.getoption("--update-golden"):
        found = {str(cell): counted(cell) for unit in here for name in UNWINDERS if (cell := judged(unit, name))}
        found |= {name: counts for name, counts in golden().items() if left(name)}
        tools = {unit.arch: str(tools_of(unit)) for unit in here if gnu(unit)}
        TOOLS.write_text(json.dumps({**golden_tools(), **tools}, indent=1) + "\n", encoding="utf-8")
        lines = ",\n".join(f'"{name}": {json.dumps(counts)}' for name, counts in found.items())
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
        golden.cache_clear()
    there = {f"{unit}-{name}" for unit in here for name, u in UNWINDERS.items() if u.applies_to(image_of(unit))}
    assert {name for name in golden() if not left(name)} == there, (
        "pytest --update-golden -n0 tests/campaign/test_matrix.py"
    )


def image_of(unit: Unit) -> Image:
    return build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe]).image


def test_known_failures_name_cells_that_exist() -> None:
    assert KNOWN_FAILURES.keys() <= {f"{unit}-{name}" for unit in UNITS for name in UNWINDERS}
    for name, reason in KNOWN_FAILURES.items():
        assert "http" in reason, f"{name}: a known failure needs a date, a reason and a link"


def test_every_limit_is_shown_somewhere_with_every_outcome() -> None:
    """A limit that nothing exercises is an excuse in waiting; the golden counts say what occurred."""
    shown: dict[str, Counter[str]] = {name: Counter() for name in UNWINDERS}
    for cell, counts in golden().items():
        shown[cell.rpartition("-")[2]].update(counts["explained"])
    for unwinder in UNWINDERS.values():
        for limit in unwinder.limits:
            assert limit.because, f"{unwinder.name}: {limit.trait.name} without a reason"
            assert limit.reference, f"{unwinder.name}: {limit.trait.name} without a reference"
            for outcome in limit.outcomes:
                pair = f"{limit.trait.name} {outcome.value}"
                assert shown[unwinder.name][pair], f"{unwinder.name}: no site of the corpus shows {pair}"


def test_table_strategies_are_exact_everywhere_with_asynchronous_tables() -> None:
    """`eh_frame` on x86_64 and arm64: every site of every program by every recipe, registers included.

    Except where a program or a recipe declares that its table is wrong, missing, synchronous or without an end, or
    that no table can say it. GCC's rows of a realigned frame are wrong in one unoptimised epilogue.
    """
    declared = {"WRONG_TABLE", "NO_TABLE", "NO_CODE", "LOST_REGISTER", "OPEN_END", "SYNCHRONOUS", "REALIGNED"}
    rows = {name: counts for name, counts in golden().items() if name.endswith("-eh_frame")}
    arches = {name.split("-")[1] for name in rows}
    assert {"x86_64", "arm64"} <= arches
    for name, counts in rows.items():
        assert {pair.partition(" ")[0] for pair in counts["explained"]} <= declared, name
        assert counts["exact"] == counts["sites"] - counts["transition"] - sum(counts["explained"].values()) > 0, name


def test_precision_and_recall_are_what_each_technique_can_have() -> None:
    """Tables say no caller that is not there; the stricter scanner says fewer false ones than the plain one."""
    said: dict[str, Callers] = dict.fromkeys(UNWINDERS, Callers())
    for cell, counts in golden().items():
        said[cell.rpartition("-")[2]] += Callers(*counts["callers"])
    precision = {name: callers.precision or 0 for name, callers in said.items()}
    recall = {name: callers.recall or 0 for name, callers in said.items()}
    assert all(0 < share <= 1 for share in (*precision.values(), *recall.values()))
    assert precision["stack_scan"] < precision["stack_scan_strict"]
    assert recall["stack_scan_strict"] < recall["stack_scan"] < recall["eh_frame"]
    assert min(precision["eh_frame"], recall["eh_frame"], precision["prologue_analysis"]) > 0.95


def test_every_architecture_program_and_recipe_is_in_the_matrix() -> None:
    assert {unit.program for unit in UNITS} == set(PROGRAMS)
    another = {name for name in RECIPES if name.startswith("clang-other")}
    assert {unit.recipe for unit in UNITS} == set(RECIPES) - another
    assert {
        unit.recipe for unit in units(PROGRAMS.values(), ARCHES.values(), RECIPES.values(), everything=True)
    } == set(RECIPES)
    assert {unit.arch for unit in UNITS} == set(ARCHES)
    assert all(outcome.meaning for outcome in Outcome)
