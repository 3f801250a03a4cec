"""``testbed run``: one program, instruction by instruction."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from testbed.campaign.cells import cell_of
from testbed.campaign.results import Cell
from testbed.cli.corpus import corpus
from testbed.cli.long_runs import WHOLE, for_long_runs, judged, long_page, named_part, pieces_of, watched
from testbed.cli.options import takes
from testbed.cli.process_run import is_process, show_process
from testbed.cli.run_options import ProcessOptions, RunOptions
from testbed.cli.strategies import applicable_of, strategies_named
from testbed.cli.terminal import console_for_reports, disagrees, save, show_site, status
from testbed.cli.writing import written
from testbed.contract.unwinder import Unwinder
from testbed.runs.judging import judge_all
from testbed.runs.program_file import FileFacts
from testbed.runs.run import Run
from testbed.truth import observe
from testbed.verdicts.one import Verdict
from testbed.words.errors import TestbedError

if TYPE_CHECKING:
    from testbed.build import Built
    from testbed.runs.long import LongRun
    from testbed.trace.chunk import Chunks


@click.command("run")
@takes(RunOptions, ProcessOptions)
def command(options: RunOptions, own: ProcessOptions) -> None:
    """Run PROGRAM and judge every strategy at every instruction.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF or
    Mach-O file; of a universal file --arch chooses the part. With --trace, a run that `testbed record` wrote is judged
    in its place.

    What the header of a source declares (`// frames:`) has to be what was watched: otherwise the exit status is 1.

    A program file with a libc, or with a dynamic linker, is run as a Linux process: testbed run ./program -- ARGUMENTS.
    All its threads are judged, and the functions are named at which each strategy goes wrong.

    A run of more than 2 million steps is not held at once: it is run and judged in pieces, and only what is counted is
    shown, by the strategies that judge whole traces.
    """
    if options.location is not None and (whole := [*options.of_every_step(), *options.given("svg")]):
        raise click.UsageError(f"{whole[0]} is of the whole run: not with --at, which shows one step")
    # Before the work: a mistyped name is told at once.
    named = strategies_named(options.names, options.commands) if options.asked else []
    if is_process(options.program, own):
        show_process(options, own, named)
        return
    run = _recorded(options, options.trace, named) if options.trace is not None else _executed(options, named)
    if options.location is None and run.failure:
        raise TestbedError(_failed(run))
    applicable = applicable_of(run.built.image, len(run), named)
    if not isinstance(run, Run):
        _show_long(run, applicable, options)
        return
    # Asked for by name or command, not by a pattern: say why it is missing.
    asked = [each for each in named if each.name in options.names or not each.repeatable]
    _say_left_out(run, [each for each in asked if each not in applicable])
    if options.location is not None:
        if not show_site(run, run.step_at(options.location), applicable, explain=options.explain):
            sys.exit(1)
        return
    _show(run, applicable, options)


def _recorded(options: RunOptions, trace: Path, named: Sequence[Unwinder]) -> Run | LongRun:
    """The run in a file. Raises UsageError where a program is named beside it."""
    if options.program is not None or options.arch or options.recipe or options.fresh:
        raise click.UsageError("--trace takes the place of PROGRAM, --arch, --recipe and --fresh")
    from testbed.runs.files import open_run

    saved, built = open_run(trace)
    if len(saved) > WHOLE or options.chunk or not saved.fits:
        return _in_pieces(built, saved.chunks(), options, named, len(saved))
    with status(f"reading {trace}"):
        return Run(built, saved, observe(saved))


def _executed(options: RunOptions, named: Sequence[Unwinder]) -> Run | LongRun:
    """The program that was named, built and run. Raises UsageError where none is."""
    program, seed, budget = options.program, options.seed, options.budget
    if program is None:
        raise click.UsageError("PROGRAM is missing (testbed list programs), or --trace FILE")
    with status(f"building and running {program}"):
        facts, folders = FileFacts(options.frame_records, options.conventions), corpus(options.folders, [program])
        how = (options.arch, options.recipe, seed, budget, options.fresh)
        found = named_part(folders, program, *how, facts, chunk=options.chunk)
    if isinstance(found, Run):
        return found
    jobs = options.jobs
    return _in_pieces(found, pieces_of(found, seed, budget, options.chunk, jobs), options, named, jobs=jobs)


def _in_pieces(
    built: Built, chunks: Chunks, options: RunOptions, named: Sequence[Unwinder], total: int = 0, jobs: int = 1
) -> LongRun:
    """A run in pieces, judged on the way; if nothing was asked for that it does not have. Raises UsageError."""
    for option in options.of_every_step():
        raise click.UsageError(f"{option} shows every step: not of a run in pieces")
    if options.location is not None:
        return watched(built, chunks, total or None)
    chosen = applicable_of(built.image, total or WHOLE, named)
    return watched(built, chunks, total or None, [u for u in chosen if options.asked or u.soon_judged], jobs)


def _failed(run: Run | LongRun) -> str:
    """Why a run proves nothing."""
    if not isinstance(run, Run):
        return f"{run}: {run.failure}"
    return f"{run.program.name} on {run.arch} by {run.recipe.name} ran {len(run)} steps, then: {run.failure}"


def _show(run: Run, unwinders: Sequence[Unwinder], options: RunOptions) -> None:
    """Judge every step, and show it in every way that was asked for. Exits with 1 where something is unexplained."""
    verdicts = _judged(run, unwinders, options)
    if options.plot:
        from testbed.report.plots import plot_run

        with written(options.plot):
            plot_run(run, verdicts, options.plot)
    if options.as_json:
        from testbed.report.json_data import run_data

        json.dump(run_data(run, verdicts), sys.stdout, separators=(",", ":"))
        sys.stdout.write("\n")
    else:
        from testbed.report.run_text import run_page

        console = console_for_reports(record=bool(options.svg))
        every, explain = options.every_step, options.explain
        page = run_page(run, verdicts, only_differences=options.differences, every_step=every, explain=explain)
        console.print(page)
        save(console, f"testbed run {options.program or run.program.name}", options.svg)
    if disagrees(run) or any(cell.unexplained for cell, _ in verdicts) or not verdicts:
        sys.exit(1)


def _show_long(run: LongRun, unwinders: Sequence[Unwinder], options: RunOptions) -> None:
    """As `_show` and --at do, for a run in pieces."""
    if options.location is not None:
        step = run.step_at(options.location)
        piece, window = run.piece(step)
        told = {"title": str(run), "number": step, "explain": options.explain}
        if not show_site(piece, window.row(step), unwinders, **told):
            sys.exit(1)
        return
    cells = judged(run, for_long_runs(unwinders, named=options.asked))
    console = console_for_reports(record=bool(options.svg))
    console.print(long_page(run, cells, explain=options.explain))
    save(console, f"testbed run {run.built.program.name}", options.svg)
    if disagrees(run) or any(cell.unexplained for cell in cells) or not cells:
        sys.exit(1)


def _judged(run: Run, unwinders: Sequence[Unwinder], options: RunOptions) -> list[tuple[Cell, Sequence[Verdict]]]:
    """Every strategy's verdicts; a page and a timeline need what the strategies said, not the verdicts alone."""
    if options.html is None and options.timeline is None:
        return [(cell_of(run, u, verdicts), verdicts) for u in unwinders for verdicts in [judge_all(run, u)]]
    from testbed.report.answers import answers_of

    answers = answers_of(run, unwinders)
    made = [(cell_of(run, each.unwinder, each.verdicts), each.verdicts) for each in answers.each]
    if options.html:
        from testbed.report.stepper import write_stepper

        with written(options.html):
            write_stepper(run, answers, [cell for cell, _ in made], options.html)
    if options.timeline:
        from testbed.report.timeline import write_timeline

        with written(options.timeline):
            write_timeline(run, answers, options.timeline)
    return list(made)


def _say_left_out(run: Run, left_out: Sequence[Unwinder]) -> None:
    for unwinder in left_out:
        missing = ", ".join(sorted(unwinder.needs - run.built.image.sections.keys()))
        reason = f"this file has no {missing}" if missing else f"it does not exist for {run.arch}"
        click.echo(f"{unwinder.name} left out: {reason}", err=True)
