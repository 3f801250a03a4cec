"""`python -m tests.mutation`: the declared sample; `--everything` all of it, for a night."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tests.mutation.mutants import (
    Fate,
    KeptTrials,
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


def judged(
    rooms: tuple[str, ...], kept: KeptTrials, *, everything: bool, sample: int | None, seed: int, jobs: int
) -> Iterator[Trial]:
    """Every chosen mutant of some rooms, tried, or settled before; each is kept as soon as it is known.

    Without ``jobs`` none is tried: only those that were, whatever became of them.
    """
    for name in rooms:
        mutants = chosen(ROOMS[name], everything=everything, sample=sample, seed=seed)
        if not jobs:
            yield from (trial for mutant in mutants if (trial := kept.last(name, mutant)) is not None)
            continue
        known = known_verdicts()
        settled = {
            mutant.key: trial
            for mutant in mutants
            if (trial := kept.settled(name, mutant, equivalent=mutant.key in known and known[mutant.key].equivalent))
        }
        yield from settled.values()
        left = [mutant for mutant in mutants if mutant.key not in settled]
        if not left:
            continue
        click.echo(f"{name}: {len(left)} mutants of {len(mutants)} to try", err=True)
        for number, trial in enumerate(tried(name, left, jobs=jobs), 1):
            told = f"{trial.mutant} ({trial.mutant.key})" if trial.fate is Fate.SURVIVED else trial.test
            click.echo(f"{name} {number}/{len(left)} {trial.fate.value} {trial.seconds:.1f} CPU s {told}", err=True)
            kept.add(trial)
            yield trial


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--room", "rooms", multiple=True, type=click.Choice(list(ROOMS)), help="Only this room; repeatable.")
@click.option("--everything", is_flag=True, help="Every change at every place: hours.")
@click.option("--sample", type=click.IntRange(1), help="How many mutants of each room, instead of the declared number.")
@click.option("--seed", default=1, show_default=True, help="Of the sample.")
@click.option(
    "-j", "--jobs", type=click.IntRange(0), default=2, show_default=True, help="Processes; 0: none, only what is kept."
)
@click.option("--kept", type=_file, help="A line of JSON per trial; what is settled there is not tried again.")
@click.option("--markdown", type=_file, help="Write the page, for example docs/results/mutation.md.")
def command(
    rooms: tuple[str, ...],
    everything: bool,
    sample: int | None,
    seed: int,
    jobs: int,
    kept: Path | None,
    markdown: Path | None,
) -> None:
    """Change the referee's code on purpose, in many small ways, and see whether its tests notice.

    Exit status: 0 where every survivor is known to be equivalent, else 1.
    """
    names = rooms or tuple(ROOMS)
    trials = list(judged(names, KeptTrials(kept), everything=everything, sample=sample, seed=seed, jobs=jobs))
    places = {n: sum(len(places_of(path)) for path in ROOMS[n].files()) for n in names}
    words = ["python -m tests.mutation", *(f"--room {n}" for n in rooms), *(["--everything"] if everything else [])]
    words += [*([f"--sample {sample}"] if sample else []), *([f"--seed {seed}"] if seed != 1 else [])]
    words += [] if jobs else ["-j 0"]
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    before = markdown.read_text(encoding="utf-8") if markdown and markdown.exists() else ""
    text = page(trials, places, known := known_verdicts(), command=" ".join(words), date=date, before=before)
    if markdown:
        markdown.write_text(text, encoding="utf-8")
    click.echo(text)
    survivors = [trial.mutant.key for trial in trials if trial.fate is Fate.SURVIVED]
    sys.exit(0 if all(key in known and known[key].equivalent for key in survivors) else 1)


if __name__ == "__main__":
    command()
