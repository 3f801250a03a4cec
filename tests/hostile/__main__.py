"""`python -m tests.hostile`: many damaged inputs for every reader; what fails is made small and written to a folder."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from testbed.words.catalogue import matching
from tests.hostile.found import KeptBatches, page, told, write_failure
from tests.hostile.target import Target
from tests.hostile.targets import TARGETS
from tests.hostile.trying import Tally, tried

_BATCH = 5000  # inputs of a target of weight 1 between two looks at the clock
_file = click.Path(dir_okay=False, path_type=Path)
_folder = click.Path(file_okay=False, path_type=Path)


def shares(targets: Sequence[Target], inputs: int) -> dict[str, int]:
    """How many of so many inputs each target gets, by weight; at least one."""
    weight = sum(target.weight for target in targets)
    return {target.name: max(1, round(inputs * target.weight / weight)) for target in targets}


def batches(targets: Sequence[Target], first: int, inputs: int | None) -> Iterator[tuple[Target, int, int]]:
    """A target, the number of its first input, and how many: in turns, so that any end leaves all of them tried."""
    left = shares(targets, inputs) if inputs is not None else None
    at = {target.name: first for target in targets}
    while left is None or any(left.values()):
        for target in targets:
            size = max(1, int(_BATCH * target.weight))
            if left is not None:
                size = min(size, left[target.name])
                left[target.name] -= size
            if size:
                yield target, at[target.name], size
                at[target.name] += size


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--target", "-t", "names", multiple=True, metavar="GLOB", help="Only these targets; repeatable.")
@click.option("--inputs", "-n", type=click.IntRange(1), help="How many over all targets (default: 20,000).")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="As many as fit into this time.")
@click.option("--seed", default=1, show_default=True, help="Of all chance.")
@click.option("--first", type=click.IntRange(0), default=0, help="The number of the first input of each target.")
@click.option("--save", type=_folder, default=Path("hostile-findings"), show_default=True, help="Where failures go.")
@click.option("--kept", type=_file, help="A line of JSON per batch is added here; --markdown sums up all of them.")
@click.option("--markdown", type=_file, help="Write the page, for example docs/results/fuzzing.md.")
@click.option("--list", "listed", is_flag=True, help="Print the targets.")
def command(
    names: tuple[str, ...],
    inputs: int | None,
    minutes: float | None,
    seed: int,
    first: int,
    save: Path,
    kept: Path | None,
    markdown: Path | None,
    listed: bool,
) -> None:
    """Give damaged files, texts and packets to everything that reads them.

    An input is read, or refused by a typed error; anything else is a failure, of which the first of each kind is made
    small and written to a folder. Exit status: 0 where nothing failed, else 1.
    """
    targets = matching(TARGETS, names, "target")
    if listed:
        for target in targets:
            click.echo(f"{target.name:32}{target.what}")
        return
    book = KeptBatches(kept)
    failed = 0
    until = time.monotonic() + 60 * minutes if minutes else None
    for tally in _tried(targets, seed, first, inputs if inputs or minutes else 20_000, until, book):
        click.echo(told(tally), err=True)
        for failure in tally.failures:
            failed += 1
            click.echo(f"  {write_failure(TARGETS[tally.target], seed, failure, save)}: {failure.kind}", err=True)
    if markdown:
        markdown.write_text(page(book, targets), encoding="utf-8")
    click.echo(f"{book.inputs_now:,} inputs, {failed} failures{f' in {save}' if failed else ''}")
    sys.exit(1 if failed else 0)


def _tried(
    targets: Sequence[Target],
    seed: int,
    first: int,
    inputs: int | None,
    until: float | None,
    book: KeptBatches,
) -> Iterator[Tally]:
    """What came of every batch; each is kept as soon as it is known."""
    for target, number, count in batches(targets, first, inputs):
        if until is not None and time.monotonic() >= until:
            return
        tally = tried(target, seed, number, count, until)
        book.add(tally, seed, number)
        yield tally


if __name__ == "__main__":
    command()
