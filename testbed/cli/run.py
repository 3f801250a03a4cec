"""``testbed run``: one program, instruction by instruction."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from testbed.build import Built
from testbed.campaign.cells import Cell, cell_of
from testbed.cli.corpus import corpus
from testbed.cli.options import Outputs, RunOptions, refuse_others, takes, written
from testbed.cli.process_options import ProcessOptions
from testbed.cli.process_run import show_process
from testbed.cli.program_files import is_process
from testbed.cli.terminal import console_for_reports, disagrees, long_work, save, show_site, status
from testbed.cli.unwinders import applicable_of, unwinders_named
from testbed.contract.unwinder import Unwinder
from testbed.runs.by_name import FileFacts, named_built
from testbed.runs.run import Run, judge_all, run_built
from testbed.trace import Exited
from testbed.trace.trace import HELD, HELD_BY_THREADS, Chunks
from testbed.truth import observe
from testbed.verdicts.verdict import Verdict
from testbed.words.errors import EmulationError, TestbedError, UsageError

WHOLE = 2_000_000  # steps that are held at once, some 200 to 400 bytes each; a longer run is looked at in pieces

if TYPE_CHECKING:
    from rich.console import RenderableType

    from testbed.runs.long import LongRun


@click.command("run")
@takes(RunOptions, ProcessOptions)
def command(options: RunOptions, own: ProcessOptions) -> None:
    """Run PROGRAM and judge every unwinder at every instruction.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF or
    Mach-O file; of a universal file --arch chooses the part. With --trace, a run that -o FILE.trace wrote is judged in
    its place. That file holds every register before every instruction, every memory write, the program file itself and
    how it ended; it needs nothing else.

    \b
    testbed run leaf_call --arch arm64                     one program, instruction by instruction
    testbed run ./program -- ARGUMENTS                     a Linux program of yours
    testbed run leaf_call --at leaf                        one step; --machine: with registers, stack and rows
    testbed run leaf_call --step                           move about in it
    testbed run leaf_call -o page.html                     a page that steps through it
    testbed run leaf_call --cross-check                    is the truth true?

    What the header of a source declares (`// frames:`) has to be what was watched: otherwise the exit status is 1.

    A program file with a libc, or with a dynamic linker, is run as a Linux process: testbed run ./program -- ARGUMENTS.
    All its threads are judged, and the functions are named at which each unwinder goes wrong.

    A run of more than 2 million steps, or a process with a budget above 4 million, is not held at once: it is run and
    judged in pieces, and only what is counted is shown, by the unwinders that judge whole traces.
    """
    is_own_process = not options.cross_check and is_process(options.program, own)
    whole = [*options.of_every_step(html=not is_own_process), *options.given("svg")]
    if options.place is not None and whole:
        raise click.UsageError(f"{whole[0]} is of the whole run: not with --at, which shows one step")
    if options.stepping and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--step needs a terminal for its keys; without one, choose a step by --at")
    if options.cross_check:
        from testbed.cli.cross_check import check_named

        sys.exit(check_named(options, own))
    # Before the work: a mistyped name is told at once.
    named = unwinders_named(options.names, options.commands) if options.asked else []
    if is_own_process:
        show_process(options, own, named)
        return
    if options.outputs.trace is not None:
        _record(options, options.outputs.trace)
        return
    run = _recorded(options, options.trace, named) if options.trace is not None else _executed(options, named)
    if options.place is None and run.failure:
        raise TestbedError(_failed(run))
    applicable = applicable_of(run.built.image, len(run), named)
    if not isinstance(run, Run):
        if options.machine or options.stepping:
            raise UsageError("--machine and --step are of runs up to 2 million steps, without --chunk")
        _show_long(run, applicable, options)
        return
    # Asked for by name or command, not by a pattern: say why it is missing.
    asked = [each for each in named if each.name in options.names or not each.repeatable]
    _say_left_out(run, [each for each in asked if each not in applicable])
    if options.machine or options.stepping:
        _show_machine(run, options, applicable)
        return
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


def _record(options: RunOptions, path: Path) -> None:
    """Run the program that was named, and write all that was recorded: of a long run while it goes on."""
    from testbed.runs.files import save_pieces, save_run

    refuse_others("-o FILE.trace", "arch", "recipe", "folders", "seed", "budget", "chunk", "fresh", "outputs")
    if options.outputs != Outputs(trace=path):
        raise UsageError("-o FILE.trace only records: run it again by --trace for the other files")
    found = _named_part(options)
    if isinstance(found, Run):
        steps, end, said = len(found), found.trace.end, str(found)
        save_run(found, path)
    else:
        pieces = _pieces_of(found, options.seed, options.budget, options.chunk, 1)
        with long_work(f"recording {found.program.name}", "steps") as work:
            steps, last = save_pieces(found, pieces(None), path, work.at)
        end = last.end
        ending = f"exit {end.status}" if isinstance(end, Exited) else "did not reach its exit"
        said = f"{found.program.name} · {found.arch} · {found.recipe.name}: {steps} steps in pieces, {ending}"
    size = path.stat().st_size
    click.echo(said)
    click.echo(f"{path}: {size:,} bytes, {size / max(1, steps):.1f} per step")
    if isinstance(end, EmulationError):
        click.echo(f"the run ended early: {end}", err=True)


def _named_part(options: RunOptions) -> Run | Built:
    """The program that was named, built, run and watched; or only built where it is to be run in pieces.

    That is where --chunk asks for them, or the run is not over after WHOLE steps: which is found out piece by piece,
    so that a long run is never held. A run in which signals arrive is never cut, see `testbed.machine.recording`:
    raises UsageError for a --chunk of one, and where no program is named.
    """
    program, seed, budget = options.program, options.seed, options.budget
    if program is None:
        raise click.UsageError("PROGRAM is missing (testbed list programs), or --trace FILE")
    with status(f"building and running {program}"):
        known, facts = corpus(options.folders, [program]), FileFacts(options.frame_records, options.conventions)
        built = named_built(known, program, options.arch, options.recipe, fresh=options.fresh, facts=facts)
        signals = built.source.header.signals
        if options.chunk and signals:
            raise UsageError(
                f"{built.program.name}: signals arrive in it, so it is not run in pieces: leave out --chunk"
            )
        if options.chunk or (budget > WHOLE and not signals and not _is_over(built, seed)):
            return built
        return run_built(built, seed=seed, budget=budget)


def _executed(options: RunOptions, named: Sequence[Unwinder]) -> Run | LongRun:
    """The program that was named, built and run. Raises UsageError where none is."""
    found = _named_part(options)
    if isinstance(found, Run):
        return found
    pieces = _pieces_of(found, options.seed, options.budget, options.chunk, options.jobs)
    return _in_pieces(found, pieces, options, named, jobs=options.jobs)


def _in_pieces(
    built: Built, chunks: Chunks, options: RunOptions, named: Sequence[Unwinder], total: int = 0, jobs: int = 1
) -> LongRun:
    """A run in pieces, judged on the way; if nothing was asked for that it does not have. Raises UsageError."""
    for option in options.of_every_step():
        raise click.UsageError(f"{option} shows every step: not of a run in pieces")
    if options.location is not None:
        return _watched(built, chunks, total or None)
    chosen = applicable_of(built.image, total or WHOLE, named)
    return _watched(built, chunks, total or None, [u for u in chosen if options.asked or u.soon_judged], jobs)


def _failed(run: Run | LongRun) -> str:
    """Why a run proves nothing."""
    if not isinstance(run, Run):
        return f"{run}: {run.failure}"
    return f"{run.program.name} on {run.arch} by {run.recipe.name} ran {len(run)} steps, then: {run.failure}"


def _show(run: Run, unwinders: Sequence[Unwinder], options: RunOptions) -> None:
    """Judge every step, and show it in every way that was asked for. Exits with 1 where something is unexplained."""
    verdicts = _judged(run, unwinders, options)
    if options.as_json:
        from testbed.report.json_data import run_data

        json.dump(run_data(run, verdicts), sys.stdout, separators=(",", ":"))
        sys.stdout.write("\n")
    else:
        from testbed.report.run_text import run_page

        console = console_for_reports(record=bool(options.outputs.svg))
        every, explain = options.every_step, options.explain
        page = run_page(run, verdicts, only_differences=options.differences, every_step=every, explain=explain)
        console.print(page)
        save(console, f"testbed run {options.program or run.program.name}", options.outputs.svg)
    if disagrees(run) or any(cell.unexplained for cell, _ in verdicts) or not verdicts:
        sys.exit(1)


def _show_machine(run: Run, options: RunOptions, unwinders: Sequence[Unwinder]) -> None:
    """Print one step whole, or let the user move about from there until he leaves."""
    if not unwinders:
        raise UsageError("none of the unwinders that were asked for applies to this file")
    step = run.step_at(options.place or "")
    if not options.stepping:
        from testbed.report.step_text import step_page
        from testbed.report.step_view import step_view

        console_for_reports().print(step_page(step_view(run, step, unwinders)))
        return
    from testbed.cli.step_screen import StepScreen
    from testbed.report.step_screen import ScreenRun

    with status("judging every step"):
        screen = ScreenRun(run, tuple(unwinders), tuple(judge_all(run, unwinder) for unwinder in unwinders))
    StepScreen(screen, step).run()


def _show_long(run: LongRun, unwinders: Sequence[Unwinder], options: RunOptions) -> None:
    """As `_show` and --at do, for a run in pieces."""
    if options.location is not None:
        step = run.step_at(options.location)
        piece, window = run.piece(step)
        told = {"title": str(run), "number": step, "explain": options.explain}
        if not show_site(piece, window.row(step), unwinders, **told):
            sys.exit(1)
        return
    cells = _judged_long(run, _for_long_runs(unwinders, named=options.asked))
    console = console_for_reports(record=bool(options.outputs.svg))
    console.print(_long_page(run, cells, explain=options.explain))
    save(console, f"testbed run {run.built.program.name}", options.outputs.svg)
    if disagrees(run) or any(cell.unexplained for cell in cells) or not cells:
        sys.exit(1)


def _judged(run: Run, unwinders: Sequence[Unwinder], options: RunOptions) -> list[tuple[Cell, Sequence[Verdict]]]:
    """Every unwinder's verdicts; a page and a timeline need what the unwinders said, not the verdicts alone."""
    if options.outputs.html is None and options.outputs.timeline is None:
        return [(cell_of(run, u, verdicts), verdicts) for u in unwinders for verdicts in [judge_all(run, u)]]
    from testbed.report.answers import answers_of

    answers = answers_of(run, unwinders)
    made = [(cell_of(run, each.unwinder, each.verdicts), each.verdicts) for each in answers.each]
    if options.outputs.html:
        from testbed.report.stepper import write_stepper

        with written(options.outputs.html):
            write_stepper(run, answers, [cell for cell, _ in made], options.outputs.html)
    if options.outputs.timeline:
        from testbed.report.timeline import write_timeline

        with written(options.outputs.timeline):
            write_timeline(run, answers, options.outputs.timeline)
    return list(made)


def _say_left_out(run: Run, left_out: Sequence[Unwinder]) -> None:
    for unwinder in left_out:
        missing = ", ".join(sorted(unwinder.needs - run.built.image.sections.keys()))
        reason = f"this file has no {missing}" if missing else f"it does not exist for {run.arch}"
        click.echo(f"{unwinder.name} left out: {reason}", err=True)


# Runs that are too long to hold: watched and judged in pieces, with a progress bar.


def _is_over(built: Built, seed: int) -> bool:
    """True for a run that ends within WHOLE steps."""
    from testbed.machine.recording import chunks_of

    steps, end = 0, None
    for piece in chunks_of(built.image, seed=seed, budget=WHOLE, cpu=built.cpu)(None):
        steps, end = steps + len(piece), piece.end
    return steps < WHOLE or isinstance(end, Exited)


def _pieces_of(built: Built, seed: int, budget: int, chunk: int | None, jobs: int) -> Chunks:
    """A built program's run in pieces, for so many threads."""
    from testbed.machine.recording import chunks_of

    held = HELD if jobs == 1 else HELD_BY_THREADS
    return chunks_of(built.image, seed=seed, budget=budget, chunk=chunk, cpu=built.cpu, held=held)


def _watched(
    built: Built, chunks: Chunks, total: int | None = None, judging: Sequence[Unwinder] = (), jobs: int = 1
) -> LongRun:
    """Watch a run in pieces for the first time; unwinders are judged on the way, by threads if ``jobs`` is 2."""
    from testbed.runs.long import watch_chunks

    with long_work(f"running {built.program.name}", "steps", total) as work:
        return watch_chunks(built, chunks, work.at, judging, jobs)


def _judged_long(run: LongRun, unwinders: Sequence[Unwinder]) -> list[Cell]:
    """Judge unwinders at every step."""
    from testbed.campaign.cells import cell_of_long
    from testbed.runs.long import judge_long

    with long_work(f"judging {run.built.program.name}", "steps", len(run)) as work:
        found = judge_long(run, unwinders, progress=work.at)
    return [cell_of_long(run, unwinder, counts) for unwinder, counts in zip(unwinders, found, strict=True)]


def _for_long_runs(unwinders: Sequence[Unwinder], *, named: bool) -> list[Unwinder]:
    """Those that are soon judged; the others only where they were asked for by name."""
    if named:
        return list(unwinders)
    slow = [unwinder.name for unwinder in unwinders if not unwinder.soon_judged]
    if slow:
        click.echo(f"left out, for it takes long to judge them (-u NAME asks for one): {', '.join(slow)}", err=True)
    return [unwinder for unwinder in unwinders if unwinder.soon_judged]


def _long_page(run: LongRun, cells: Sequence[Cell], *, explain: bool) -> RenderableType:
    """What there is to say about a long run."""
    from testbed.report.phrases import count
    from testbed.report.run_text import summary_page

    note = f"{run.built.program.summary}\nlooked at in {count(run.known.windows, 'piece')}; --at @N shows one step"
    return summary_page(str(run), note, cells, explain=explain)
