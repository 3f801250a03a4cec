"""``testbed backtrace``: the call stack of a snapshot that others made, or at one place of a program's run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from programs import PROGRAMS
from testbed.campaign.names import NameOutcome, NameReport, judge_names, true_frames
from testbed.cli.options import (
    NamedRun,
    at_option,
    debug_dirs_option,
    json_option,
    refuse_others,
    takes,
    unwinder_cmd,
    unwinders_option,
)
from testbed.cli.unwinders import unwinders_named
from testbed.contract.unwinder import Backtrace, Unwinder, nothing_found
from testbed.foreign import Places, read_snapshot
from testbed.foreign.read import Foreign
from testbed.generate.seeds import is_generated
from testbed.naming.symbolize import symbolize, with_places
from testbed.report.answers import foreign_data, foreign_text
from testbed.report.styles import STYLES, shown
from testbed.store.codec import json_text
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnwindError, UsageError
from unwinders import UNWINDERS

_OF_A_RUN = ("arch", "recipe", "seed", "budget", "location")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions:
    """What only a snapshot has: where its program files are, and which of its threads is meant."""

    sysroot: Annotated[
        Path | None,
        click.option(
            "--sysroot",
            type=click.Path(file_okay=False, exists=True, path_type=Path),
            help="Of a snapshot: a folder with the program files of its machine.",
        ),
    ]
    files: Annotated[
        tuple[str, ...],
        click.option(
            "--file",
            "files",
            multiple=True,
            metavar="PATH[@BASE]",
            help="Of a snapshot: a program file, mapped from address BASE on.",
        ),
    ]
    debug_dirs: Annotated[
        tuple[Path, ...],
        debug_dirs_option(
            help="Of a snapshot: look for separate debug files, there and beside the program files, as gdb's "
            "debug-file-directory: /usr/lib/debug. Repeatable; without it none is read.",
        ),
    ]
    skip_missing: Annotated[
        bool,
        click.option(
            "--skip-missing", is_flag=True, help="Of a snapshot: go on without the program files that are not found."
        ),
    ]
    thread: Annotated[
        int | None,
        click.option(
            "--thread",
            type=click.IntRange(0),
            help="Of a snapshot: which thread, from 0 (default: the one that stopped).",
        ),
    ]
    as_json: Annotated[bool, json_option]


@click.command("backtrace")
@takes(NamedRun, SnapshotOptions)
@at_option
@click.option("--judge", is_flag=True, help="Of a program: judge the names at every instruction, not at one.")
@unwinders_option
@unwinder_cmd
@click.option("--style", "-s", type=click.Choice(list(STYLES)), default="gdb", show_default=True, help="How to print.")
def command(
    named: NamedRun,
    snapshot: SnapshotOptions,
    location: str | None,
    judge: bool,
    names: tuple[str, ...],
    commands: tuple[str, ...],
    style: str,
) -> None:
    """The call stack of a snapshot, or of PROGRAM at LOCATION, with names and lines.

    \b
    testbed backtrace core.1234 --sysroot /           every unwinder's, of a file that others made
    testbed backtrace leaf_call --at leaf             the true one, of a program at a place
    testbed backtrace tail_chain --judge              are the names right at every instruction?

    A snapshot is an ELF core file, a minidump, a Mach-O core file, a JSON snapshot (testbed export), or a folder that
    holds one. Nobody watched that stack, so nothing is judged: where unwinders differ, at most one is right.

    PROGRAM is a name from `testbed list programs`, or the path of a source (NAME.c, NAME.ISA.S) or an ELF file. Inlined
    calls are shown, and tail calls where they are certain; -u says who finds the frames (default: they are the true
    ones). --judge compares functions, tail calls and declared inlined calls with the calls that were watched. exact:
    what was watched; ambiguous: said to be so; missing: not shown; invented: never happened.

    Exit status 1: no unwinder found a caller, nor says that there is none; or a name was invented.
    """
    unwinders = unwinders_named(names, commands) if names or commands else []
    if judge:
        refuse_others("--judge", "judge", *_OF_A_RUN[:-1])
        sys.exit(_judge(named))
    if location is not None:
        refuse_others("--at", "style", "names", "commands", *_OF_A_RUN)
        _tell_place(named, location, unwinders, style)
        return
    if named.program in PROGRAMS or is_generated(named.program):
        raise UsageError(f"where in {named.program}? --at LOCATION, or --judge for all of it")
    refuse_others("a snapshot", "names", "commands", *SnapshotOptions.__slots__)
    _tell_snapshot(named.program, snapshot, unwinders)


def _tell_place(named: NamedRun, location: str, unwinders: Sequence[Unwinder], style: str) -> None:
    """Print the frames at a place of a run, as a known tool does: those of an unwinder, or the true ones."""
    if len(unwinders) > 1:
        raise UsageError(f"-u says who finds the frames: one, not {len(unwinders)}")
    run = named.run()
    step = run.step_at(location)
    at = run[step]
    said = unwinders[0].unwind(at) if unwinders else Backtrace(true_frames(run, step), None)
    for line in STYLES[style](shown(at, said, symbolize(at.images, said), run.program.name)):
        click.echo(line)


def _judge(named: NamedRun) -> bool:
    """Print how the names of a run compare with the calls that were watched. True: some were invented."""
    run = named.run()
    report = judge_names(run)
    click.echo(str(run))
    for line in _report_lines(report):
        click.echo(line)
    return bool(report.invented)


def _report_lines(report: NameReport) -> list[str]:
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


def _tell_snapshot(path: str, how: SnapshotOptions, asked: Sequence[Unwinder]) -> None:
    """Print the backtraces of a snapshot: of the unwinders that were asked, or of all that can say something."""
    places = Places(tuple(_file(text) for text in how.files), how.sysroot, how.skip_missing, how.debug_dirs)
    foreign = read_snapshot(Path(path), places, thread=how.thread)
    said = {unwinder.name: _unwound(unwinder, foreign.snapshot) for unwinder in asked or _all_for(foreign)}
    if how.as_json:
        click.echo(json_text(foreign_data(foreign, said)), nl=False)
    else:
        for line in foreign_text(foreign, said):
            click.echo(line)
    if not foreign.snapshot.images:
        click.echo(_no_file(foreign), err=True)
    if all(len(backtrace.frames) < 2 and backtrace.stopped is not None for backtrace in said.values()):
        click.echo("no unwinder found a caller", err=True)
        raise click.exceptions.Exit(1)


def _no_file(foreign: Foreign) -> str:
    """That no table and no name can be had, and what would help."""
    start = next((f"{module.start:#x}" for module in foreign.dump.modules if module.start is not None), "0x400000")
    example = "" if foreign.left_out else ", the address where the file is mapped from"
    return f"no program file is known, so there are no tables and no names: --file PATH@{start} gives one{example}"


def _file(text: str) -> tuple[Path, int | None]:
    path, at, base = text.rpartition("@")
    if not at:
        return _existing(text, text), None
    try:
        return _existing(path, text), int(base, 0)
    except ValueError:
        if Path(text).is_file():
            return Path(text), None
        raise UsageError(f"--file {text}: {base!r} is no address; write PATH@0x7f0000000000") from None


def _existing(path: str, text: str) -> Path:
    if not Path(path).is_file():
        raise UsageError(f"--file {text}: there is no file {path}")
    return Path(path)


def _all_for(foreign: Foreign) -> list[Unwinder]:
    """The unwinders that exist for the architecture and find their tables, or need none, with or without a file."""
    images, arch = [loaded.image for loaded in foreign.snapshot.images], foreign.dump.arch.name
    return [
        unwinder
        for unwinder in UNWINDERS.values()
        if any(unwinder.applies_to(image) for image in images)
        or (not unwinder.needs and (unwinder.arches is None or arch in unwinder.arches))
    ]


def _unwound(unwinder: Unwinder, snapshot: Snapshot) -> Backtrace:
    """An unwinder's backtrace; one that cannot even begin stops at the interrupted frame."""
    try:
        if unwinder.arches is not None and snapshot.arch.name not in unwinder.arches:
            raise NoUnwindInfo(f"{unwinder.name} is for {', '.join(sorted(unwinder.arches))}, not for {snapshot.arch}")
        return unwinder.unwind(snapshot)
    except UnwindError as stop:
        return nothing_found(snapshot, stop)
