"""``testbed unwind``: the backtraces of a snapshot that others made."""

from __future__ import annotations

import json
from pathlib import Path

import click

from testbed.cli.options import debug_dirs_option, strategies_option, unwinder_cmd
from testbed.cli.strategies import strategies_named
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.foreign import Places, read_snapshot
from testbed.foreign.read import Foreign
from testbed.report.foreign_text import foreign_data, foreign_text
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnwindError, UsageError
from unwinders import UNWINDERS


@click.command("unwind")
@click.argument("path", type=click.Path(path_type=Path))
@strategies_option
@unwinder_cmd
@click.option(
    "--sysroot",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="A folder with the program files of the machine that the dump is of.",
)
@click.option(
    "--file", "files", multiple=True, metavar="PATH[@BASE]", help="A program file, mapped from address BASE on."
)
@debug_dirs_option(
    help="Look for separate debug files, there and beside the program files, as gdb's debug-file-directory: "
    "/usr/lib/debug. Repeatable; without it none is read.",
)
@click.option("--skip-missing", is_flag=True, help="Go on without the program files that are not found.")
@click.option("--thread", type=click.IntRange(0), help="Which thread, from 0 (default: the one that stopped).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    path: Path,
    names: tuple[str, ...],
    commands: tuple[str, ...],
    sysroot: Path | None,
    files: tuple[str, ...],
    debug_dirs: tuple[Path, ...],
    skip_missing: bool,
    thread: int | None,
    as_json: bool,
) -> None:
    """Every strategy's backtrace of the snapshot in PATH, with names and lines.

    PATH is an ELF core file, a minidump, a Mach-O core file, a JSON snapshot (testbed export), or a folder that holds
    one. Nobody watched that stack, so nothing is judged: where strategies differ, at most one is right. Exit status 1:
    no strategy found a caller, nor says that there is none.
    """
    asked = strategies_named(names, commands) if names or commands else []
    places = Places(tuple(_file(text) for text in files), sysroot, skip_missing, debug_dirs)
    foreign = read_snapshot(path, places, thread=thread)
    said = {unwinder.name: _unwound(unwinder, foreign.snapshot) for unwinder in asked or _all_for(foreign)}
    if as_json:
        click.echo(json.dumps(foreign_data(foreign, said), indent=1))
    else:
        for line in foreign_text(foreign, said):
            click.echo(line)
    if not foreign.snapshot.images:
        click.echo(_no_file(foreign), err=True)
    if all(len(backtrace.frames) < 2 and backtrace.stopped is not None for backtrace in said.values()):
        click.echo("no strategy found a caller", err=True)
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
    """The strategies that exist for the architecture and find their tables, or need none, with or without a file."""
    images, arch = [loaded.image for loaded in foreign.snapshot.images], foreign.dump.arch.name
    return [
        unwinder
        for unwinder in UNWINDERS.values()
        if any(unwinder.applies_to(image) for image in images)
        or (not unwinder.needs and (unwinder.arches is None or arch in unwinder.arches))
    ]


def _unwound(unwinder: Unwinder, snapshot: Snapshot) -> Backtrace:
    """A strategy's backtrace; one that cannot even begin stops at the interrupted frame."""
    try:
        if unwinder.arches is not None and snapshot.arch.name not in unwinder.arches:
            raise NoUnwindInfo(f"{unwinder.name} is for {', '.join(sorted(unwinder.arches))}, not for {snapshot.arch}")
        return unwinder.unwind(snapshot)
    except UnwindError as stop:
        stop.pc = snapshot.pc
        frame = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers)
        return Backtrace((frame,), stop)
