"""``testbed run``: one program, instruction by instruction."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from testbed.campaign.cells import cell_of
from testbed.campaign.results import Cell
from testbed.cli.long_runs import WHOLE, first_part, for_long_runs, is_long, judged, long_page, watched
from testbed.cli.strategies import strategies_named
from testbed.cli.terminal import console_for_reports, save
from testbed.contract.unwinder import Unwinder
from testbed.runs.files import open_run
from testbed.runs.run import Run, judge_all
from testbed.trace.chunk import LEAST
from testbed.truth import observe
from testbed.verdicts.one import Verdict
from testbed.words.errors import TestbedError

if TYPE_CHECKING:
    from testbed.runs.long import LongRun


@click.command("run")
@click.argument("program", required=False)
@click.option("--arch", "-a", "arch", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for).")
@click.option("--recipe", "-r", metavar="RECIPE", help="How to build it (default: the first; testbed list recipes).")
@click.option(
    "--unwinder",
    "-u",
    "names",
    multiple=True,
    metavar="GLOB",
    help="Only these strategies, real unwinders too; repeatable.",
)
@click.option("--at", "location", metavar="LOCATION", help="One site in detail: symbol, symbol+0x4, symbol+0x4#2, @17.")
@click.option("--differences", is_flag=True, help="Only the steps at which some strategy is not exact.")
@click.option("--seed", default=1, show_default=True, help="Of the values planted in registers before entry.")
@click.option("--budget", default=1_000_000, show_default=True, help="Give up after this many instructions.")
@click.option(
    "--chunk",
    type=click.IntRange(LEAST),
    help="Run in pieces of this many steps, however short the run (default: only what is longer than 2 million steps).",
)
@click.option("--fresh", is_flag=True, help="Build again, whatever the cache holds.")
@click.option("--trace", type=click.Path(dir_okay=False, path_type=Path), help="Judge the run in this file instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON (schema: testbed/report/schema/run.json).")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page that steps through the run."
)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Also write a picture to this file.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Also write plots, as .svg or .png.")
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the stacks for speedscope and Perfetto.",
)
def command(
    program: str | None,
    arch: str | None,
    recipe: str | None,
    names: tuple[str, ...],
    location: str | None,
    differences: bool,
    seed: int,
    budget: int,
    chunk: int | None,
    fresh: bool,
    trace: Path | None,
    as_json: bool,
    html: Path | None,
    svg: Path | None,
    plot: Path | None,
    timeline: Path | None,
) -> None:
    """Run PROGRAM and judge every strategy at every instruction.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF or
    Mach-O file; of a universal file --arch chooses the part. With --trace, a run that `testbed record` wrote is judged
    in its place.

    What the header of a source declares (`// frames:`) has to be what was watched: otherwise the exit status is 1.

    A run of more than 2 million steps is not held at once: it is run and judged in pieces, and only what is counted is
    shown, by the strategies that judge whole traces.
    """
    chosen = strategies_named(names)
    holding = {"--differences": differences, "--json": as_json, "--html": html, "--plot": plot, "--timeline": timeline}
    if trace is not None:
        if program is not None or arch or recipe or fresh:
            raise click.UsageError("--trace takes the place of PROGRAM, --arch, --recipe and --fresh")
        saved, built = open_run(trace)
        if len(saved) > WHOLE or chunk:
            _run_long(watched(built, saved.chunks(), len(saved)), chosen, names, location, svg, holding)
            return
        with Console(stderr=True).status(f"reading {trace}"):
            run = Run(built, saved, observe(saved))
    elif program is None:
        raise click.UsageError("PROGRAM is missing (testbed list programs), or --trace FILE")
    else:
        with Console(stderr=True).status(f"building and running {program}"):
            run = first_part(program, arch, recipe, seed, budget, fresh)
        if chunk or is_long(run, budget):
            from testbed.machine.chunks import chunks_of

            pieces = chunks_of(run.built.image, seed=seed, budget=budget, chunk=chunk, cpu=run.built.cpu)
            built = run.built
            del run  # what was held of it
            _run_long(watched(built, pieces), chosen, names, location, svg, holding)
            return
    failure = run.failure
    if failure and location is None:
        raise TestbedError(
            f"{run.program.name} on {run.arch} by {run.recipe.name} ran {len(run)} steps, then: {failure}"
        )
    applicable = [unwinder for unwinder in chosen if unwinder.applies_to(run.built.image)]
    if names:  # asked for by name: say why it is missing
        _say_left_out(run, [unwinder for unwinder in chosen if unwinder not in applicable])
    if location is not None:
        from testbed.report.site_text import print_site

        print_site(console_for_reports(), run, run.step_at(location), applicable)
        return
    verdicts = _judged(run, applicable, html, timeline)
    if plot:
        from testbed.report.plots import plot_run

        plot_run(run, verdicts, plot)
    if as_json:
        from testbed.report.data import run_data

        json.dump(run_data(run, verdicts), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        from testbed.report.run_text import run_page

        console = console_for_reports(record=bool(svg))
        console.print(run_page(run, verdicts, only_differences=differences))
        save(console, f"testbed run {program or run.program.name}", svg)
    if _disagrees(run) or any(cell.unexplained for cell, _ in verdicts) or not verdicts:
        sys.exit(1)


def _disagrees(run: Run | LongRun) -> bool:
    """Say where the program declares other frames than were watched: one of the two is wrong, and so is any verdict."""
    for disagreement in run.disagreements:
        click.echo(disagreement, err=True)
    if run.disagreements:
        click.echo(
            "the header declares other frames than were watched: no verdict on this run is to be trusted", err=True
        )
    return bool(run.disagreements)


def _run_long(
    run: LongRun,
    chosen: Sequence[Unwinder],
    names: Sequence[str],
    location: str | None,
    svg: Path | None,
    holding: Mapping[str, object],
) -> None:
    """As the command does, for a run in pieces."""
    for option, given in holding.items():
        if given:
            raise click.UsageError(f"{option} shows every step: not of a run in pieces ({len(run)} steps)")
    if run.failure and location is None:
        raise TestbedError(f"{run}: {run.failure}")
    applicable = [unwinder for unwinder in chosen if unwinder.applies_to(run.built.image)]
    if location is not None:
        from testbed.report.site_text import print_site

        step = run.step_at(location)
        piece, window = run.piece(step)
        print_site(console_for_reports(), piece, window.row(step), applicable, title=str(run), number=step)
        return
    cells = judged(run, for_long_runs(applicable, named=bool(names)))
    console = console_for_reports(record=bool(svg))
    console.print(long_page(run, cells))
    save(console, f"testbed run {run.built.program.name}", svg)
    if _disagrees(run) or any(cell.unexplained for cell in cells) or not cells:
        sys.exit(1)


def _judged(
    run: Run, unwinders: Sequence[Unwinder], html: Path | None, timeline: Path | None
) -> list[tuple[Cell, Sequence[Verdict]]]:
    """Every strategy's verdicts; a page and a timeline need what the strategies said, not the verdicts alone."""
    if html is None and timeline is None:
        return [(cell_of(run, u, verdicts), verdicts) for u in unwinders for verdicts in [judge_all(run, u)]]
    from testbed.report.answers import answers_of

    answers = answers_of(run, unwinders)
    made = [(cell_of(run, each.unwinder, each.verdicts), each.verdicts) for each in answers.each]
    if html:
        from testbed.report.stepper import write_stepper

        write_stepper(run, answers, [cell for cell, _ in made], html)
    if timeline:
        from testbed.report.timeline import write_timeline

        write_timeline(run, answers, timeline)
    return list(made)


def _say_left_out(run: Run, left_out: Sequence[Unwinder]) -> None:
    for unwinder in left_out:
        missing = ", ".join(sorted(unwinder.needs - run.built.image.sections.keys()))
        reason = f"this file has no {missing}" if missing else f"it does not exist for {run.arch}"
        click.echo(f"{unwinder.name} left out: {reason}", err=True)
