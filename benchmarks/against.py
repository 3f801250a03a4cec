"""An older checkout beside this one: `python -m benchmarks.against DIR --python PYTHON`.

Each figure is one command that both understand, run as a person runs it, in turns: older, this, this, older. Times are
processor time of all processes that the command starts (user and system), so that what else runs on the machine hardly
counts; a ratio is the median of the rounds. DIR is a checkout of the older commit, PYTHON an interpreter with what that
commit needs. Byte code, compiled kernels and built files of each checkout are on disk: a first turn of each command,
which is not counted, sees to it (in the older one with the shortest workload, for it may take very long). A command
that is refused is no figure: it ends the measuring with what it said.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import click

from benchmarks.report import described_machine
from benchmarks.table import FigureTable, TableValue, text_of

HERE = Path(__file__).parents[1]
WORKLOAD = HERE / "benchmarks" / "workload.c"
REFUSED = 2  # the exit status of a command that did not do what it was told
PATIENCE, LONGER = 300, 3600  # seconds of processor time, per process
RUN = ("-m", "testbed.cli", "run")
CELL = ("-m", "pytest", "-q", "-k", "leaf_call and arm64 and eh_frame")
NAMES = ("-m", "pytest", "-q", "--collect-only")  # the names of all tests are kept by it, where a checkout keeps them
SHORT, LONG = 4, 265  # rounds of the workload: about 23,000 and 1.4 million steps


@dataclass(frozen=True, slots=True)
class Figure:
    """One command, and what of it counts: seconds of processor time, or bytes that it prints."""

    title: str
    goal: str
    command: tuple[str, ...]
    rounds_of_workload: int = 0  # a file of so many rounds stands behind the command
    behind: tuple[str, ...] = ()
    of_bytes: bool = False
    once: bool = False  # too long for several turns
    first: tuple[str, ...] = ()  # a command that is run before the first turn, and does not count
    cold: bool = False  # nothing is made before it: its cache is empty


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout, the interpreter that runs it, and a cache folder of its own."""

    root: Path
    python: str
    cache: Path


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of a command: its processor time, the largest process (bytes), what it printed (bytes), its end."""

    seconds: float
    memory: int
    printed: int
    whole: bool


def _of_workload(
    title: str, goal: str, rounds: int, *behind: str, of_bytes: bool = False, once: bool = False
) -> Figure:
    return Figure(title, goal, RUN, rounds, ("-a", "x86_64", "-r", "clang-O2", *behind), of_bytes, once)


FIGURES = {
    "python": Figure("`python -c pass`", "", ("-c", "pass")),
    "help": Figure("`testbed --help`", "", ("-m", "testbed.cli", "--help")),
    "leaf_call": Figure("`testbed run leaf_call --arch arm64`", "", (*RUN, "leaf_call", "--arch", "arm64")),
    "cell": Figure(
        '`pytest -k "leaf_call and arm64 and eh_frame"`', "at most 100 × `python -c pass`", CELL, first=NAMES
    ),
    "run": _of_workload("`testbed run`, 23,000 steps", "at most 1/40", SHORT),
    "all": _of_workload("`testbed run -u '*'`, 23,000 steps", "", SHORT, "-u", "*"),
    "json": _of_workload("`--json` of it: bytes", "at most 1/5", SHORT, "--json", of_bytes=True),
    "plot": _of_workload("`-o FILE.plot.svg` of it", "seconds", SHORT, "-o", os.devnull + ".plot.svg"),
    "long": _of_workload(
        "`testbed run`, 1.4 million steps", "no more than the judging", LONG, "--budget", "100000000", once=True
    ),
    "suite": Figure("`pytest`, nothing made before", "at most 2/5", ("-m", "pytest", "-q"), once=True, cold=True),
}


def turn(figure: Figure, checkout: Checkout, folder: Path) -> Turn:
    """Run the command once in a checkout."""
    command = [checkout.python, *figure.command]
    if figure.rounds_of_workload:
        command.append(str(_workload(folder, figure.rounds_of_workload)))
    command += [word.replace(os.devnull, str(folder / "out")) for word in figure.behind]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    cache = checkout.cache / "cold" if figure.cold else checkout.cache
    environment |= {"TESTBED_CACHE": str(cache), "PYTHONPATH": str(checkout.root), "NO_COLOR": "1"}
    environment["PYTHONPYCACHEPREFIX"] = str(cache / "bytecode")
    printed = folder / "printed"
    patience = LONGER if figure.cold else PATIENCE
    with printed.open("wb") as out, (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(
            command,
            cwd=checkout.root,
            env=environment,
            stdout=out,
            stderr=errors,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (patience, patience)),
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode == REFUSED:
            said = errors.read().decode(errors="replace").strip()
            raise click.ClickException(f"{' '.join(command)}: {said}")
    whole = process.returncode >= 0
    return Turn(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, printed.stat().st_size, whole)


def _workload(folder: Path, rounds: int) -> Path:
    """The measured program at a length, as a source file that both checkouts read."""
    path = folder / f"workload_{rounds}.c"
    if not path.exists():
        text = WORKLOAD.read_text(encoding="utf-8")
        path.write_text(text.replace("#define SCALE 1\n", f"#define SCALE {rounds}\n"), encoding="utf-8")
    return path


def compared(figure: Figure, older: Checkout, this: Checkout, rounds: int, folder: Path) -> tuple[TableValue, ...]:
    """The row of a figure: before, now, now of before, the most memory of either, the goal."""
    before: list[Turn] = []
    now: list[Turn] = []
    shortest = replace(figure, rounds_of_workload=min(figure.rounds_of_workload, 1))
    for checkout, warming in (
        (older, shortest),
        (this, figure),
    ):  # not counted: byte code, kernels, built files are made
        if figure.cold:
            break
        if figure.first:
            turn(replace(figure, command=figure.first), checkout, folder)
        turn(warming, checkout, folder)
    for number in range(1 if figure.once else rounds):
        order = ((older, before), (this, now))
        for checkout, turns in order if number % 2 == 0 else order[::-1]:
            turns.append(turn(figure, checkout, folder))
    counted = [[each.printed if figure.of_bytes else each.seconds for each in turns] for turns in (before, now)]
    ratio = median(b / a for a, b in zip(*counted, strict=True))
    texts = [_text(median(values), turns, figure) for values, turns in zip(counted, (before, now), strict=True)]
    memory = [f"{max(each.memory for each in turns) / 2**20:.0f}" for turns in (before, now)]
    return (figure.title, *texts, text_of(ratio), " / ".join(memory), figure.goal)


def _text(value: float, turns: Sequence[Turn], figure: Figure) -> str:
    """A figure, "more than" where a turn was ended by its limit."""
    sign = "" if all(each.whole for each in turns) else "> "
    return sign + (f"{value:,.0f}" if figure.of_bytes else text_of(value))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("older", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--python", default=sys.executable, help="The interpreter for the older checkout (default: this one).")
@click.option("--only", multiple=True, type=click.Choice(list(FIGURES)), help="Only this figure; repeatable.")
@click.option("--rounds", default=3, type=click.IntRange(1), help="Paired turns of each command (default: 3).")
@click.option("--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Write the page.")
def command(older: Path, python: str, only: tuple[str, ...], rounds: int, markdown: Path | None) -> None:
    """What a person waits for, in the checkout OLDER and in this one."""
    names = [name for name in FIGURES if not only or name in only]
    with tempfile.TemporaryDirectory(prefix="testbed-") as name:
        folder = Path(name)
        before = Checkout(older.resolve(), python, folder / "before")
        this = Checkout(HERE, sys.executable, folder / "now")
        rows = []
        for figure in names:
            click.echo(f"measuring: {figure}", err=True)
            rows.append(compared(FIGURES[figure], before, this, rounds, folder))
    head = _git(older)
    notes = (
        f"Before: commit {head}. Now: {_git(HERE)}. Seconds are processor time of all processes, user and system; "
        f"*> {PATIENCE}*: stopped there. MB: the largest process, before and now. {described_machine()}",
    )
    columns = ("command", "before (s)", "now (s)", "now / before", "MB", "goal")
    text = FigureTable("against", "Before and after", columns, tuple(rows), notes).markdown()
    click.echo(text)
    if markdown:
        markdown.write_text(text, encoding="utf-8")


def _git(root: Path) -> str:
    asked = ("git", "-C", str(root), "rev-parse", "--short", "HEAD")
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    command()
