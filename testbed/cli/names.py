"""``testbed names``: symbolization judged against the calls that were watched."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import click

from programs import PROGRAMS
from testbed.arch import ARCHES, arch_named
from testbed.build.recipes import RECIPES
from testbed.campaign.names import NameOutcome, NameReport, judge_names
from testbed.campaign.results import Unit
from testbed.campaign.units import run_unit, units
from testbed.cli.corpus import corpus
from testbed.cli.options import arch_option, budget_option, recipe_option, seed_option
from testbed.naming.symbolize import with_places
from testbed.runs.by_name import named_run
from testbed.words.catalogue import matching
from testbed.words.errors import ToolchainMissing, UsageError


@click.command("names")
@click.argument("program", required=False)
@click.option("--all", "every", is_flag=True, help="All units of the matrix, counted by recipe.")
@arch_option
@recipe_option
@seed_option
@budget_option
def command(program: str | None, every: bool, arch: str | None, recipe: str | None, seed: int, budget: int) -> None:
    """Judge the names of PROGRAM's frames at every instruction: functions, tail calls, declared inlined calls.

    exact: what was watched; ambiguous: said to be so; missing: not shown; invented: never happened. With --all, -a and
    -r choose among the units. Exit status 1 if anything is invented.
    """
    if every == (program is not None):
        raise UsageError("names of what? a program, or --all")
    if program is None:
        arches = [arch_named(arch)] if arch else list(ARCHES.values())
        totals = judge_all_names(units(PROGRAMS.values(), arches, matching(RECIPES, (recipe or "*",), "recipe")))
        for line in total_lines(totals):
            click.echo(line)
        sys.exit(any(total.outcomes[NameOutcome.INVENTED] for total in totals.values()))
    run = named_run(corpus(names=[program]), program, arch, recipe, seed=seed, budget=budget, fresh=False)
    report = judge_names(run)
    click.echo(str(run))
    for line in report_lines(report):
        click.echo(line)
    if report.invented:
        sys.exit(1)


@dataclass
class Total:
    """The names of several units: sites by outcome, and the tail calls that were watched."""

    units: int = 0
    tail_calls: int = 0
    outcomes: Counter[NameOutcome] = field(default_factory=Counter)


def judge_all_names(planned: Iterable[Unit]) -> dict[tuple[str, str], Total]:
    """The names of all units, by (architecture, recipe). Units whose tools are missing are left out."""
    totals: dict[tuple[str, str], Total] = {}
    for unit in planned:
        try:
            report = judge_names(run_unit(unit, PROGRAMS))
        except ToolchainMissing:
            continue
        total = totals.setdefault((unit.arch, unit.recipe), Total())
        total.units += 1
        total.tail_calls += report.departures.count
        total.outcomes.update(report.counts)
        total.outcomes.update(verdict.outcome for _, _, verdict in report.declared)
    return totals


COLUMNS = ("architecture", "recipe", "units", "tail calls", *(outcome.label for outcome in NameOutcome))


def total_rows(totals: Mapping[tuple[str, str], Total]) -> Iterator[tuple[str, ...]]:
    """A row per (architecture, recipe), under COLUMNS, and their sum."""
    arches = list(ARCHES)
    named = sorted(totals.items(), key=lambda pair: arches.index(pair[0][0]))
    whole = Total(
        sum(total.units for _, total in named),
        sum(total.tail_calls for _, total in named),
        sum((total.outcomes for _, total in named), Counter()),
    )
    for (arch, recipe), total in [*named, (("all", ""), whole)]:
        numbers = (total.units, total.tail_calls, *(total.outcomes[outcome] for outcome in NameOutcome))
        yield (arch, recipe, *(f"{number:,}" for number in numbers))


def total_lines(totals: Mapping[tuple[str, str], Total]) -> Iterator[str]:
    rows = [COLUMNS, *total_rows(totals)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        cells = [cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(cells).rstrip()


def report_lines(report: NameReport) -> list[str]:
    counts = ", ".join(f"{outcome.label} {count}" for outcome, count in report.counts.items())
    lines = [f"{len(report.verdicts)} sites: {counts}; {report.departures.count} tail calls were watched"]
    shown: set[str] = set()
    images = report.run.trace.images
    for step, verdict in report.verdicts.items():
        if verdict.outcome is not NameOutcome.EXACT and verdict.difference not in shown:
            shown.add(verdict.difference)
            where = report.run.where(int(report.run.trace.pc[step]))
            lines.append(
                f"  {verdict.outcome.label}, first at step {step}, {where}: {with_places(images, verdict.difference)}"
            )
    for expectation, step, verdict in report.declared:
        said = f": {verdict.difference}" if verdict.difference else ""
        lines.append(f"  declared at {expectation.location}, step {step}: {verdict.outcome.label}{said}")
    return lines
