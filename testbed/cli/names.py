"""``testbed names``: symbolization judged against the calls that were watched."""

from __future__ import annotations

import sys

import click

from programs import PROGRAMS
from testbed.judge_names import NameOutcome, NameReport, judge_names
from testbed.named import named_run
from testbed.symbolize import with_places


@click.command("names")
@click.argument("program")
@click.option("--arch", "-a", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for).")
@click.option("--recipe", "-r", metavar="RECIPE", help="How to build it (default: the first; testbed list recipes).")
@click.option("--seed", default=1, show_default=True, help="Of the values planted in registers before entry.")
@click.option("--budget", default=1_000_000, show_default=True, help="Give up after this many instructions.")
def command(program: str, arch: str | None, recipe: str | None, seed: int, budget: int) -> None:
    """Judge the names of PROGRAM's frames at every instruction: functions, tail calls, declared inlined calls.

    exact: what was watched; ambiguous: said to be so; missing: not shown; invented: never happened. Exit status 1 if
    anything is invented.
    """
    run = named_run(PROGRAMS, program, arch, recipe, seed=seed, budget=budget, fresh=False)
    report = judge_names(run)
    click.echo(str(run))
    for line in report_lines(report):
        click.echo(line)
    if report.invented:
        sys.exit(1)


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
