"""`python -m tests.mutation`: the declared sample; `--everything` all of it, for a night."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tests.mutation.mutants import Mutant, all_mutants, places_of, sampled_mutants
from tests.mutation.report import page
from tests.mutation.rooms import ROOMS, MutatedRoom
from tests.mutation.trial import Fate, Trial, tried, unchanged
from tests.mutation.verdicts import known_verdicts

_file = click.Path(dir_okay=False, path_type=Path)


def chosen(room: MutatedRoom, *, everything: bool, sample: int | None, seed: int) -> list[Mutant]:
    """The mutants of a room that a run takes."""
    files = room.files(everything=everything)
    if everything:
        return list(all_mutants(files))
    return list(sampled_mutants(files, room.sample if sample is None else sample, f"{room.name} {seed}"))


def judged(rooms: tuple[str, ...], *, everything: bool, sample: int | None, seed: int, jobs: int) -> Iterator[Trial]:
    """Every chosen mutant of some rooms, tried."""
    for name in rooms:
        mutants = chosen(ROOMS[name], everything=everything, sample=sample, seed=seed)
        click.echo(f"{name}: {len(mutants)} mutants; first the tests on the unchanged code", err=True)
        allowed = unchanged(name)
        for number, trial in enumerate(tried(name, mutants, allowed, jobs=jobs), 1):
            told = f" {trial.mutant}" if trial.fate is Fate.SURVIVED else ""
            click.echo(f"{name} {number}/{len(mutants)} {trial.fate.value} {trial.seconds:.0f} s{told}", err=True)
            yield trial


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--room", "rooms", multiple=True, type=click.Choice(list(ROOMS)), help="Only this room; repeatable.")
@click.option("--everything", is_flag=True, help="Every change at every place, compiled code too: hours.")
@click.option("--sample", type=click.IntRange(1), help="How many mutants of each room, instead of the declared number.")
@click.option("--seed", default=1, show_default=True, help="Of the sample.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--json", "json_file", type=_file, help="Write every trial as a line of JSON.")
@click.option("--markdown", type=_file, help="Write the page, for example docs/mutation.md.")
def command(
    rooms: tuple[str, ...],
    everything: bool,
    sample: int | None,
    seed: int,
    jobs: int,
    json_file: Path | None,
    markdown: Path | None,
) -> None:
    """Change the referee's code on purpose, in many small ways, and see whether its tests notice.

    Exit status: 0 where every survivor is known to be equivalent, else 1.
    """
    names = rooms or tuple(ROOMS)
    trials = []
    for trial in judged(names, everything=everything, sample=sample, seed=seed, jobs=jobs):
        trials.append(trial)
        if json_file:
            with json_file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(_data(trial)) + "\n")
    places = {n: sum(len(places_of(path)) for path in ROOMS[n].files(everything=True)) for n in names}
    words = ["python -m tests.mutation", *(f"--room {n}" for n in rooms), *(["--everything"] if everything else [])]
    words += [*([f"--sample {sample}"] if sample else []), *([f"--seed {seed}"] if seed != 1 else [])]
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = page(trials, places, known := known_verdicts(), command=" ".join(words), date=date)
    if markdown:
        markdown.write_text(text, encoding="utf-8")
    click.echo(text)
    survivors = [trial.mutant.key for trial in trials if trial.fate is Fate.SURVIVED]
    sys.exit(0 if all(key in known and known[key].equivalent for key in survivors) else 1)


def _data(trial: Trial) -> dict[str, object]:
    m = trial.mutant
    told = {"module": m.module, "line": m.line, "operator": m.operator, "before": m.before, "after": m.after}
    return {"room": trial.room, "key": m.key, **told, "fate": trial.fate.value, "seconds": round(trial.seconds, 1)}


if __name__ == "__main__":
    command()
