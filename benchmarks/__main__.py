"""`python -m benchmarks`: all of it, or `--quick` to see that it works."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from benchmarks.recorders import memory, recording, scaling, traces
from benchmarks.starting import first_uses, starting
from benchmarks.table import FigureTable, as_markdown
from testbed.words.errors import TestbedError

ROUNDS, QUICK_ROUNDS = 5, 2
PARTS: dict[str, Callable[[bool, int], FigureTable]] = {
    "recording": lambda quick, rounds: recording(quick=quick, rounds=rounds),
    "traces": lambda quick, rounds: traces(quick=quick, rounds=min(rounds, 3)),
    "scaling": lambda quick, rounds: scaling(quick=quick, rounds=rounds),
    "starting": lambda quick, rounds: starting(quick=quick, rounds=rounds),
    "first_uses": lambda quick, rounds: first_uses(quick=quick, rounds=min(rounds, 3)),
    "memory": lambda quick, rounds: memory(quick=quick),
}


def measure(parts: tuple[str, ...], *, quick: bool, rounds: int) -> Iterator[FigureTable]:
    """The tables of some parts (none named: all), as they are ready."""
    for name, part in PARTS.items():
        if not parts or name in parts:
            click.echo(f"measuring: {name}", err=True)
            yield part(quick, rounds)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="Short runs on one architecture: shows that it works, proves nothing.")
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Only this part; repeatable.")
@click.option("--rounds", type=click.IntRange(1), help=f"Paired rounds (default: {ROUNDS}; quick: {QUICK_ROUNDS}).")
@click.option("--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Write the page.")
def command(quick: bool, parts: tuple[str, ...], rounds: int | None, markdown: Path | None) -> None:
    """Measure the testbed: ratios from paired, interleaved rounds in one process tree."""
    rounds = rounds or (QUICK_ROUNDS if quick else ROUNDS)
    tables = []
    for table in measure(parts, quick=quick, rounds=rounds):
        tables.append(table)
        click.echo(table.markdown())
    if markdown:
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        options = " ".join([*(["--quick"] if quick else []), *(f"--part {part}" for part in parts), "--markdown FILE"])
        text = as_markdown(tables, date=date, rounds=rounds, options=options)
        markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        command()
    except TestbedError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
