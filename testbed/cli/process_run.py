"""``testbed run`` of a real Linux program: run as a process, every thread watched, every unwinder judged."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from testbed.cli.options import RunOptions, given_bytes, try_writing, written
from testbed.cli.process_options import ProcessOptions
from testbed.cli.terminal import console_for_reports, long_work, show_site, status
from testbed.cli.unwinders import telling_of_process
from testbed.contract.unwinder import Unwinder
from testbed.image import read_image
from testbed.image.separate_debug import NOWHERE, looked_in
from testbed.words.errors import TestbedError, UsageError
from testbed.words.printable import printable_lines

if TYPE_CHECKING:  # they load numba, which no run of the corpus needs
    from testbed.process import ProcessRun
    from testbed.process.process_run import LongProcess, LongThread
    from testbed.profiling.result import CountedProcess, UnwinderShare, WatchedProcess, WatchedThread
    from testbed.profiling.thread_run import ThreadRun
    from testbed.report.profile_html import ProfiledBuild

BUDGET = 4_000_000
MOST_ON_A_PAGE = 1_000_000  # steps; such a page has some 6 MB, and a browser opens it in some seconds


def watched_process(options: RunOptions, own: ProcessOptions, budget: int) -> WatchedProcess:
    """The process that was named, run and watched."""
    from testbed.process import run_process
    from testbed.process.process_run import program_of
    from testbed.profiling.judge import watch_process

    program = str(options.program)
    with status(f"running {program}"), _interruptible(_WHILE_IT_RUNS) as interrupted:
        run = run_process(program, **_inputs(options, own, budget), interrupted=interrupted.is_set)
    run = run if own.child is None else program_of(run, own.child)
    if not run.tracks:
        raise TestbedError(f"{program} executed no instruction: {run.why}")
    with long_work(f"watching {run.path.name}", "steps", sum(len(track.trace) for track in run.tracks)) as work:
        return watch_process(run, work.at)


INTERRUPTED = "testbed.interrupted"  # in a command's own values: what it shows is not all
_WHILE_IT_RUNS = "its next system call ends it, and what it did is judged"
_WHILE_JUDGED = "what is done until then is shown"


@contextmanager
def _interruptible(then: str) -> Iterator[threading.Event]:
    """An interrupt is heard, and it is said what becomes of it; a second one ends this command."""
    heard, context = threading.Event(), click.get_current_context()

    def note(number: int, frame: FrameType | None) -> None:
        if heard.is_set():
            raise KeyboardInterrupt
        heard.set()
        context.meta[INTERRUPTED] = True
        click.echo(f"interrupted: {then}; once more ends all", err=True)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # only the main thread hears interrupts
        yield heard
        return
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def _inputs(options: RunOptions, own: ProcessOptions, budget: int) -> dict[str, Any]:
    """What a process is given, as the functions that run one name it."""
    from testbed.process.starting import ENVIRONMENT

    try:
        here = os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder was deleted, and a process begins in it: cd to another one") from error
    folders = {here: here} if here != "/" else {}  # as in a shell; not the whole host
    for each in own.shown:
        name, found, folder = each.partition("=")
        if not found:
            raise UsageError(f"--folder {each}: NAME=DIR, for example /data=./files")
        folders[name] = folder
    return {
        "arguments": own.arguments,
        "environment": {**ENVIRONMENT, **_variables(own)},
        "seed": options.seed,
        "budget": budget,
        "stdin": _read_by(own.stdin),
        "sysroot": own.sysroot,
        "folders": folders,
        "folder": here,
        "conventions": options.conventions,
        "debug": NOWHERE if own.no_debug_files else looked_in(own.debug_dirs, own.sysroot),
    }


def _variables(options: ProcessOptions) -> dict[str, str]:
    """The variables that were given by name."""
    given = {name: (found, value) for name, found, value in (each.partition("=") for each in options.variables)}
    for name, (found, _) in given.items():
        if not (name and found):
            raise UsageError(f"--env {name}: NAME=VALUE, for example --env HOME=/tmp")
    return {name: value for name, (_, value) in given.items()}


def _read_by(stdin: Path | None) -> bytes:
    """What a process reads: a file, or all of this command's own standard input."""
    if stdin is None:
        return b""
    return sys.stdin.buffer.read() if str(stdin) == "-" else given_bytes(stdin, "--stdin ")


def show_process(options: RunOptions, own: ProcessOptions, named: Sequence[Unwinder]) -> None:
    """Run, judge, and show a process. Exits with 1 where something is unexplained, or nothing of the program judged."""
    from testbed.profiling.result import WatchedProcess, reaches_own_code

    _only_of_short_runs(options, own)
    timeline = options.outputs.timeline
    for path in (own.stdout, timeline, options.outputs.html):
        if path is not None:
            try_writing(path)
    budget = budget_of(options.budget)
    if options.location is not None:
        if own.sample is not None:
            raise UsageError("--at shows one step, --sample what a profiler sees of all: one of them")
        _show_step(options, own, named, budget)
        return
    process: WatchedProcess | CountedProcess
    long = _long(options, own, budget) if options.chunk or budget > BUDGET else None
    if long is not None:
        process, shares = _judged_in_pieces(long, own, named, options.jobs)
        applicable: list[Unwinder] = []
    else:
        process, applicable, shares = _whole(options, own, named, min(budget, BUDGET))
    applicable, unasked = applicable[: len(shares)], [each.name for each in applicable[len(shares) :]]
    builds: list[ProfiledBuild] = []
    if own.sample is not None:
        assert isinstance(process, WatchedProcess)  # in pieces none is sampled
        builds = _builds(_profiled(process, applicable, shares, own.sample), options, own, named, min(budget, BUDGET))
        _write_profiles(builds, options)
    profiles = builds[0].profiles if builds else []
    if own.stdout is not None:
        own.stdout.write_bytes(process.run.stdout)
    if options.as_json:
        from testbed.report.json_forms import ProcessForm
        from testbed.store.codec import encoded

        cut = INTERRUPTED in click.get_current_context().meta and process.run.status is None
        complete = not (cut or unasked or process.left)
        said = {
            "process": process,
            "run": process.run,
            "unwinders": shares,
            "profiles": profiles,
            "complete": complete,
        }
        json.dump(encoded(ProcessForm, said), sys.stdout, separators=(",", ":"))
        sys.stdout.write("\n")
    else:
        _print(process, shares, builds, unasked, printer=None if own.stdout else Path(str(options.program)).name)
    if options.outputs.html is not None and own.sample is None:
        _show_page(options, own, named, long or (process if isinstance(process, WatchedProcess) else None), budget)
    if INTERRUPTED in click.get_current_context().meta:
        sys.exit(130)
    if not shares or any(each.unexplained for each in shares) or not reaches_own_code(shares):
        sys.exit(1)


def _whole(
    options: RunOptions, own: ProcessOptions, named: Sequence[Unwinder], budget: int
) -> tuple[WatchedProcess, list[Unwinder], list[UnwinderShare]]:
    """A process that is held whole, the unwinders that apply to it, and what became of each."""
    from testbed.profiling.judge import judge_process, steps_asked

    process = watched_process(options, own, budget)
    applicable = _asked(process.run, named)
    shares: list[UnwinderShare] = []
    with long_work("judging", "unwinders", len(applicable)) as work, _interruptible(_WHILE_JUDGED) as heard:
        for unwinder in applicable:
            if heard.is_set() and shares:
                break
            sample = own.asked_at or steps_asked(unwinder)
            shares.append(judge_process(process, unwinder, sample=sample))
            work.advance(f"judging {unwinder.name}")
    return process, applicable, shares


def _applicable(run: ProcessRun, named: Sequence[Unwinder]) -> list[Unwinder]:
    """Those that were named, or else the usual ones, that apply to a file of a process."""
    images = [loaded.image for loaded in run.images]
    return [each for each in named or telling_of_process(images) if any(map(each.applies_to, images))]


def _asked(run: ProcessRun, named: Sequence[Unwinder]) -> list[Unwinder]:
    """The applicable ones; why others that were named are not is told."""
    applicable = _applicable(run, named)
    for each in named:
        if each not in applicable:
            click.echo(f"{each.name} left out: {_why_left_out(each, run)}", err=True)
    return applicable


def _why_left_out(unwinder: Unwinder, run: ProcessRun) -> str:
    """Why an unwinder has nothing to say of any file of a process."""
    if unwinder.arches is not None and run.arch.name not in unwinder.arches:
        return f"it does not exist for {run.arch}"
    missing = sorted(unwinder.needs - {name for loaded in run.images for name in loaded.image.sections})
    return f"no file of this process has {' and '.join(missing)}" if missing else "no file has all that it needs"


def _long(options: RunOptions, own: ProcessOptions, budget: int) -> LongProcess | None:
    """A process that ran without being held; None for one that has to be. Raises UsageError for samples of it."""
    from testbed.process.process_run import NotInPieces, run_in_pieces

    if own.sample is not None:
        raise UsageError("--sample looks at a process that is held whole: of up to 4 million steps, without --chunk")
    if own.child is not None:
        raise UsageError(
            "--child looks at a run that is held whole: of up to 4 million steps, without --chunk; a page of it is of "
            "up to 1 million: --at shows any step, --sample N all of it as flame graphs"
        )
    asked: dict[str, Any] = {"piece": options.chunk} if options.chunk else {}
    try:
        with (
            long_work(f"running {Path(str(options.program)).name}", "steps") as work,
            _interruptible(_WHILE_IT_RUNS) as interrupted,
        ):
            asked |= {"progress": work.at, "interrupted": interrupted.is_set}
            return run_in_pieces(str(options.program), **_inputs(options, own, budget), **asked)
    except NotInPieces as why:
        click.echo(f"{str(why).partition(',')[0]}: held whole, and at most {BUDGET:,} steps.", err=True)
        return None


def _judged_in_pieces(
    long: LongProcess, own: ProcessOptions, named: Sequence[Unwinder], jobs: int
) -> tuple[CountedProcess, list[UnwinderShare]]:
    """A long process, judged without holding it."""
    from testbed.profiling.judge import judge_in_pieces

    applicable = _asked(long.run, named)
    with (
        long_work("watching and judging", "steps", long.run.steps) as work,
        _interruptible(_WHILE_JUDGED) as heard,
    ):
        given: dict[str, Any] = {"sample": own.asked_at, "interrupted": heard, "jobs": jobs}
        return judge_in_pieces(long, applicable, progress=lambda done, what: work.at(done, what=what), **given)


def _show_step(options: RunOptions, own: ProcessOptions, named: Sequence[Unwinder], budget: int) -> None:
    """One step of a process, and a page if one was asked for. Exits with 1 where something there is unexplained."""
    from testbed.profiling.thread_run import look_ahead, part_at, thread_at
    from testbed.trace.trace import CHUNK

    location, process = str(options.location), None
    debug = _inputs(options, own, budget)["debug"]
    if not own.child and (why := look_ahead(read_image(Path(str(options.program)), debug=debug), location)):
        click.echo(f"{why}.", err=True)
    long, most = None, CHUNK if options.outputs.html is None else MOST_ON_A_PAGE
    if not options.chunk and budget <= BUDGET:
        process = watched_process(options, own, budget)
    if process is None or (options.outputs.html is not None and process.steps > most):
        process, long = None, _long(options, own, budget)
    if long is not None:
        what = f"watching {long.run.path.name}", "steps in two passes", 2 * long.run.steps
        with long_work(*what) as work, _told_how_it_ended(long.run):
            run, row = part_at(long, location, work.at, most)
        threads: Sequence[WatchedThread | LongThread] = long.threads
    else:  # it is short, or has to be held whole
        held = min(budget, BUDGET if options.outputs.html is None else most)
        process = process or watched_process(options, own, held)
        with _told_how_it_ended(process.run):
            run, row = thread_at(process, location)
        threads = process.threads
    applicable = _applicable(run.process, named)
    told = show_site(run, row, applicable, number=run.number_of(row), explain=options.explain)
    if options.outputs.html is not None:
        ordered = sorted(threads, key=lambda each: each.number != run.thread.number)
        show_page(run, applicable, options, ordered, run.number_of(row))
    if not told:
        sys.exit(1)


@contextmanager
def _told_how_it_ended(run: ProcessRun) -> Iterator[None]:
    """What a run that was cut off does not have, it might have had later."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{error}; {run.ending}" if run.status is None else str(error)) from error


def _show_page(
    options: RunOptions,
    own: ProcessOptions,
    named: Sequence[Unwinder],
    ran: WatchedProcess | LongProcess | None,
    budget: int,
) -> None:
    """Write a page of the first thread of a process that ``ran``: of all of it, if one page can show that."""
    from testbed.profiling.result import WatchedProcess
    from testbed.profiling.thread_run import part_of_own_code, thread_run

    if isinstance(ran, WatchedProcess) and ran.threads[0].steps > MOST_ON_A_PAGE:
        ran = _long(options, own, budget)
    if ran is None:  # it has to be held whole
        most = min(budget, MOST_ON_A_PAGE)
        ran = watched_process(options, own, most)
    if isinstance(ran, WatchedProcess):
        run = thread_run(ran.run, ran.threads[0])
    else:
        with long_work(f"watching {ran.run.path.name}", "steps in two passes", 2 * ran.run.steps) as work:
            run = part_of_own_code(ran, MOST_ON_A_PAGE, work.at)
    last = run.number_of(run.thread.stop - 1)
    show_page(run, _applicable(ran.run, named), options, ran.threads, last if ran.run.signal else None)


def show_page(
    run: ThreadRun,
    unwinders: Sequence[Unwinder],
    options: RunOptions,
    threads: Sequence[WatchedThread | LongThread],
    opens: int | None = None,
) -> None:
    """Write a page that steps through the first one of a process's threads, and say so; it ``opens`` at a step."""
    from testbed.campaign.cells import cell_of
    from testbed.report.answers import answers_of
    from testbed.report.phrases import count
    from testbed.report.process_text import others_of
    from testbed.report.stepper import stepper_html, unwinder_sentence

    path, err = options.outputs.html, options.as_json
    assert path is not None
    with long_work("judging for the page", "unwinders", len(unwinders)) as work:
        answers = answers_of(run, unwinders)
        work.advance("writing")
    with written(path):
        cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
        page = stepper_html(run, answers, cells, others_of(run.process, threads), opens)
        path.write_text(page, encoding="utf-8")
    others = {"other thread": len(threads) - 1, "other program": len(run.process.children)}
    named = " and ".join(count(number, noun) for noun, number in others.items() if number)
    more = f", {run.ending}" + f"; it names {named}, and does not step through them" * bool(named)
    click.echo(f"{path}: {run.steps_shown} of thread {run.thread.number} of {run.process.path.name}{more}", err=err)
    for each in answers.each:
        click.echo(f"    {each.unwinder.name}: {unwinder_sentence(run, each.verdicts)}", err=err)


def _profiled(
    process: WatchedProcess, unwinders: Sequence[Unwinder], shares: Sequence[UnwinderShare], every: int
) -> ProfiledBuild:
    from testbed.profiling.samples import sampled_profiles
    from testbed.report.profile_html import ProfiledBuild

    with status(f"every {every}-th step, as a profiler sees it"):
        profiles = sampled_profiles(process, unwinders, every)
    return ProfiledBuild(process.run, profiles, shares)


def _builds(
    first: ProfiledBuild, options: RunOptions, own: ProcessOptions, named: Sequence[Unwinder], budget: int
) -> list[ProfiledBuild]:
    """The build that was named, and the other one that it is compared with."""
    if own.against is None:
        return [first]
    assert own.sample is not None
    process, applicable, shares = _whole(replace(options, program=str(own.against)), own, named, budget)
    return [first, _profiled(process, applicable[: len(shares)], shares, own.sample)]


def _write_profiles(builds: Sequence[ProfiledBuild], options: RunOptions) -> None:
    from testbed.report.profile_html import profile_html, write_profile

    if options.outputs.timeline is not None:
        write_profile(str(builds[0].run), builds[0].profiles, options.outputs.timeline)
    if options.outputs.html is not None:
        with written(options.outputs.html):
            options.outputs.html.write_text(profile_html(builds), encoding="utf-8")
        click.echo(f"{options.outputs.html}: flame graphs, the true one beside each unwinder's", err=True)


def _print(
    process: WatchedProcess | CountedProcess,
    shares: Sequence[Any],
    builds: Sequence[ProfiledBuild],
    unasked: Sequence[str],
    *,
    printer: str | None,
) -> None:
    """``printer`` is the program that was named; None: what it prints is not shown."""
    from testbed.report.process_text import process_page

    console = console_for_reports()
    for name, data in (("printed", process.run.stdout), ("printed to stderr", process.run.stderr)):
        if data and (printer or name != "printed"):
            console.print(f"{printer or process.run.path.name} {name}:")
            console.print(printable_lines(data.decode("utf-8", "backslashreplace").rstrip("\n")), soft_wrap=True)
            console.print()
    console.print(process_page(process, shares, unasked, sampled=bool(builds)), crop=False)
    if builds:
        from testbed.report.profile_html import profile_report

        console.print(*profile_report(builds), sep="")


def budget_of(budget: int, otherwise: int = BUDGET) -> int:
    """The budget, where one was asked for."""
    source = click.get_current_context().get_parameter_source("budget")
    return otherwise if source is click.core.ParameterSource.DEFAULT else budget


def _only_of_short_runs(options: RunOptions, own: ProcessOptions) -> None:
    """Raise UsageError for what is not shown of a process."""
    if own.against is not None and own.against.open("rb").read(4) != b"\x7fELF":
        raise UsageError(f"--against {own.against}: no ELF file")
    if own.against is not None and own.sample is None:
        raise UsageError("--against compares what a profiler sees: with --sample N, every N-th step")
    if options.outputs.timeline is not None and own.sample is None:
        raise UsageError("-o FILE.timeline.json of a process shows samples: with --sample N, every N-th step")
    single = ("machine", "stepping", "differences", "every_step", "svg", "trace", "recipe", "frame_records")
    for option in options.given(*single):
        raise UsageError(f"{option} shows single steps, or is of the corpus: not for a process (--json has the places)")
