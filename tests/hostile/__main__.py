"""`python -m tests.hostile`: many damaged inputs for every reader; what fails is made small and written to a folder."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import click

from testbed.words.catalogue import matching
from testbed.words.errors import UsageError
from tests.hostile.found import KeptBatches, page, told, write_failure
from tests.hostile.target import Target, numbered_input
from tests.hostile.targets import TARGETS
from tests.hostile.trying import Tally, tried, try_input

# The same targets, guided by what an input reaches: atheris (libFuzzer) keeps those that reach something new.
#
# Each target is a process: the modules that it reads with are instrumented as they are imported, so nothing of ours may
# be imported before. The engine's own mutations alternate with ours, which know the structure and mend checksums.


_CHILD = """
import sys
import atheris
name, seed, first, count, folder = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
with atheris.instrument_imports(include=["testbed", "unwinders"]):
    from tests.hostile.__main__ import explore
explore(atheris, name, seed, first, count, folder)
"""


def explored(target: Target, seed: int, first: int, count: int) -> Tally:
    """``count`` inputs of a target that coverage led to. Raises UsageError where atheris is not installed."""
    if find_spec("atheris") is None:
        raise UsageError("--coverage needs atheris: pip install 'unwind-testbed[hostile]', or atheris>=3.0")
    with tempfile.TemporaryDirectory(prefix="testbed-hostile-") as folder:
        command = [sys.executable, "-c", _CHILD, target.name, str(seed), str(first), str(count), folder]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        said = Path(folder) / "said"
        if not said.exists():
            raise UsageError(f"atheris did not begin with {target.name}:\n{done.stderr[-2000:]}")
        tally: Tally = pickle.loads(said.read_bytes())
    return tally


# What runs inside a process of `tests.hostile.__main__`.


_MEMORY = 4096  # MB that libFuzzer allows the process
_WRITE_EVERY = 256  # inputs


def explore(engine: Any, name: str, seed: int, first: int, count: int, folder: str) -> None:
    """``count`` inputs that the engine chooses; it does not come back. What came of them is written now and then:
    libFuzzer ends the process by itself."""
    target, tally, said = TARGETS[name], Tally(name), Path(folder) / "said"
    seeds = target.seeds()
    corpus = Path(folder) / "corpus"
    corpus.mkdir()
    for number, content in enumerate(seeds):
        (corpus / str(number)).write_bytes(content)
    for number in range(first, first + 64):
        (corpus / f"damaged-{number}").write_bytes(numbered_input(target, seeds, seed, number))

    def write() -> None:
        aside = said.with_suffix(".new")
        aside.write_bytes(pickle.dumps(tally))
        os.replace(aside, said)

    def mutate(content: bytes, most: int, number: int) -> bytes:
        dice = Random(number)
        changed = engine.Mutate(content, most) if dice.randrange(3) == 0 else target.damage(content, dice, seeds)
        return target.mend(changed)[:most]

    def take(content: bytes) -> None:
        tally.take(-1, try_input(target, content), content)
        if tally.inputs >= count or tally.inputs % _WRITE_EVERY == 0:
            write()
        if tally.inputs >= count:
            os._exit(0)

    write()
    options = [f"-seed={seed}", f"-rss_limit_mb={_MEMORY}", "-timeout=60", "-max_len=1048576", "-verbosity=0"]
    engine.Setup(["testbed", *options, f"-artifact_prefix={folder}/", str(corpus)], take, custom_mutator=mutate)
    engine.Fuzz()


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
@click.option("--coverage", is_flag=True, help="Guided by coverage, by atheris: pip install 'unwind-testbed[hostile]'.")
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
    coverage: bool,
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
    for tally in _tried(targets, seed, first, inputs if inputs or minutes else 20_000, until, coverage, book):
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
    coverage: bool,
    book: KeptBatches,
) -> Iterator[Tally]:
    """What came of every batch; each is kept as soon as it is known."""
    for target, number, count in batches(targets, first, inputs):
        if until is not None and time.monotonic() >= until:
            return
        if coverage:
            from tests.hostile.__main__ import explored

            tally = explored(target, seed, number, count)
        else:
            tally = tried(target, seed, number, count, until)
        book.add(tally, seed, number)
        yield tally


if __name__ == "__main__":
    command()
