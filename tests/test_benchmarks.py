"""The benchmark suite measures what it says: structure and work are checked, never times."""

import re
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import PARTS, command, measure
from benchmarks.recorders import PIECES, RECORDERS, run_recorder, run_unhooked
from benchmarks.rounds import Contender, compare
from benchmarks.table import FigureTable
from benchmarks.workload import FOREVER, TARGETS, BenchmarkTarget, machine, scale_for, steps
from testbed.arch import ARCHES
from testbed.machine.recording import record_light

ROOT = Path(__file__).parents[1]


@pytest.mark.everything
def test_the_quick_suite_measures_every_part(tmp_path: Path) -> None:
    tables = dict(zip(PARTS, measure((), quick=True, rounds=1), strict=True))
    assert all(table.rows for table in tables.values())
    ways = dict(zip(tables["recording"].column("way"), tables["recording"].column("× unhooked"), strict=True))
    assert {"unhooked", *RECORDERS, PIECES} == set(ways) and ways["unhooked"] == 1
    for table in (tables["recording"], tables["scaling"]):
        assert all(float(n or 0) > 0 for name in ("ns per step", "steps") for n in table.column(name))
    assert {"truth", "walk eh_frame", "judge fp_chain"} < set(tables["traces"].column("part"))
    assert set(tables["scaling"].column("part")) == {*RECORDERS, PIECES, "truth"}
    assert all(float(n or 0) > 0 for n in tables["memory"].column("trace (bytes per step)"))


def test_the_page_of_a_part_says_which_machine_it_is_of(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    said = CliRunner().invoke(command, ["--quick", "--part", "memory", "--markdown", str(page)])
    assert said.exit_code == 0, said.output
    text = page.read_text(encoding="utf-8")
    assert re.search(r"\n\d+ cores, ", text) and "\n## Memory per step\n" in text


def test_the_committed_results_are_of_a_full_run_and_dated() -> None:
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    assert re.search(r"`python -m benchmarks --markdown FILE`, \d{4}-\d\d-\d\d", page)
    for target in TARGETS:
        assert re.search(rf"^\| {target.name} \| unhooked \| ", page, re.M), f"{target.name} was not measured"


def test_every_instruction_set_is_measured() -> None:
    assert {target.arch for target in TARGETS} == set(ARCHES)
    isas = sum(len(arch.isas) for arch in ARCHES.values())
    assert len({target.name for target in TARGETS}) == len(TARGETS) == isas


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_length_of_a_run_is_known_before_it_runs(target: BenchmarkTarget) -> None:
    scale = scale_for(target, 30_000)
    recorded = len(record_light(machine(target, scale), FOREVER).sizes)
    assert recorded == steps(target, scale)
    assert abs(recorded - 30_000) <= steps(target, 2) - steps(target, 1)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_way_to_record_runs_the_program_to_its_exit(target: BenchmarkTarget) -> None:
    for run in (run_unhooked, *(partial(run_recorder, each) for each in RECORDERS.values())):
        run(machine(target, 1))  # asserts the exit status by itself


def test_rounds_are_paired_and_interleaved() -> None:
    order: list[str] = []

    def contender(name: str, seconds: float, units: float) -> Contender:
        def run(made: object) -> None:
            order.append(f"run {name} {made}")
            time.sleep(seconds)

        def prepare() -> str:
            order.append(f"prepare {name}")
            return f"what {name} needs"

        return Contender(units, run, prepare)

    measured = compare({"a": contender("a", 0.002, 1), "b": contender("b", 0.002, 1000)}, rounds=3)
    runs = [line.split()[1] for line in order if line.startswith("run")]
    assert sorted(zip(runs[::2], runs[1::2], strict=True)) == [("a", "b"), ("a", "b"), ("b", "a"), ("b", "a")]
    assert all(f"run {n} what {n} needs" == after for n, after in zip(runs, order[1::2], strict=True))
    assert measured["a"].ratio.least == measured["a"].ratio.most == 1
    assert measured["b"].ratio.most < 0.5, "the work of a run does not count"
    assert measured["b"].nanoseconds.least <= measured["b"].nanoseconds.median <= measured["b"].nanoseconds.most


def test_tables_say_numbers_in_three_digits() -> None:
    table = FigureTable("A table", ("name", "n"), (("a", 1234.5), ("b", 12.345), ("c", 1.2345), ("d", None)), ("Why.",))
    assert table.markdown() == (
        "## A table\n\n| name | n |\n|---|---:|\n| a | 1,234 |\n| b | 12.3 |\n| c | 1.23 |\n| d | - |\n\nWhy.\n"
    )
