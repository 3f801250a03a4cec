"""`python -m tests.mutation`: the declared sample; `--everything` all of it, for a night."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tests.mutation.mutants import (
    Fate,
    Mutant,
    Trial,
    all_mutants,
    known_verdicts,
    places_of,
    sampled_mutants,
    tried,
)
from tests.mutation.report import page
from tests.mutation.rooms import ROOMS, MutatedRoom

_file = click.Path(dir_okay=False, path_type=Path)


def chosen(room: MutatedRoom, *, everything: bool, sample: int | None, seed: int) -> list[Mutant]:
    """The mutants of a room that a run takes."""
    files = room.files()
    if everything:
        return list(all_mutants(files))
    return list(sampled_mutants(files, room.sample if sample is None else sample, f"{room.name} {seed}"))


def judged(room: str, mutants: Sequence[Mutant], *, jobs: int) -> Iterator[Trial]:
    """Every mutant of a room, tried, and told as soon as it is known."""
    for number, trial in enumerate(tried(room, mutants, jobs=jobs), 1):
        told = f"{trial.mutant} ({trial.mutant.key})" if trial.fate is Fate.SURVIVED else trial.test
        click.echo(f"{room} {number}/{len(mutants)} {trial.fate.value} {trial.seconds:.1f} CPU s {told}", err=True)
        yield trial


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--room", "rooms", multiple=True, type=click.Choice(list(ROOMS)), help="Only this room; repeatable.")
@click.option("--everything", is_flag=True, help="Every change at every place: hours.")
@click.option("--sample", type=click.IntRange(1), help="How many mutants of each room, instead of the declared number.")
@click.option("--seed", default=1, show_default=True, help="Of the sample.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--markdown", type=_file, help="Write the page, for example docs/results/mutation.md.")
def command(
    rooms: tuple[str, ...], everything: bool, sample: int | None, seed: int, jobs: int, markdown: Path | None
) -> None:
    """Change the referee's code on purpose, in many small ways, and see whether its tests notice.

    Exit status: 0 where every survivor is known to be equivalent, else 1.
    """
    names = rooms or tuple(ROOMS)
    trials: list[Trial] = []
    for name in names:
        trials += judged(name, chosen(ROOMS[name], everything=everything, sample=sample, seed=seed), jobs=jobs)
    places = {n: sum(len(places_of(path)) for path in ROOMS[n].files()) for n in names}
    words = ["python -m tests.mutation", *(f"--room {n}" for n in rooms), *(["--everything"] if everything else [])]
    words += [*([f"--sample {sample}"] if sample else []), *([f"--seed {seed}"] if seed != 1 else [])]
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = page(trials, places, known := known_verdicts(), command=" ".join(words), date=date)
    if markdown:
        markdown.write_text(text, encoding="utf-8")
    click.echo(text)
    survivors = [trial.mutant.key for trial in trials if trial.fate is Fate.SURVIVED]
    sys.exit(0 if all(key in known and known[key].equivalent for key in survivors) else 1)


if __name__ == "__main__":
    command()
