"""The page of the mutation score: one row per room, then every survivor with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.mutation.trial import Fate, Trial
from tests.mutation.verdicts import SurvivorVerdict

_HEAD = """# Mutation score

Each mutant is one small change of the code that decides what is true and who is right: another comparison, a number
plus one, `and` for `or`, a loop that does not run. A mutant is *killed* where a test fails, or hangs. A survivor is
either equivalent (no input can tell it from the code) or a hole in the tests. The score leaves equivalent ones out.

Without `--everything` it is a sample: so many places of each room, drawn by number, and one change at each; compiled
modules, which take minutes a mutant, are left out. Only those of a room's tests are asked that end soon
(`tests/mutation/rooms.py`), so what the whole suite would notice besides is not counted. What the first run of a sample
finds becomes tests: the score says what these tests hold now, not what they would find among other mutants. What was
killed, or survived and is equivalent, is not tried again as long as its line stays (`--kept FILE`); the minutes are
those of its trial by the clock, beside whatever else the machine did.

Made by `{command}` on {date}.

| room | places | mutants tried | killed | survived | equivalent | holes | score | minutes |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def page(
    trials: Sequence[Trial],
    places: Mapping[str, int],
    verdicts: Mapping[str, SurvivorVerdict],
    *,
    command: str,
    date: str,
) -> str:
    """The page as Markdown; ``places`` says how many there are in each room."""
    rows = []
    rooms = list(dict.fromkeys(trial.room for trial in trials))
    for room in rooms:
        rows.append(_row(room, [t for t in trials if t.room == room], str(places[room]), verdicts))
    if len(rooms) > 1:
        rows.append(_row("**all**", trials, str(sum(places[room] for room in rooms)), verdicts))
    out = _HEAD.format(command=command, date=date) + "\n".join(rows) + "\n\n## Survivors\n\n"
    survivors = [trial for trial in trials if trial.fate is Fate.SURVIVED]
    if not survivors:
        return out + "None.\n"
    for trial in survivors:
        verdict = verdicts.get(trial.mutant.key)
        kind = "open" if verdict is None else "equivalent" if verdict.equivalent else "hole"
        why = "no verdict yet" if verdict is None else verdict.why
        out += f"* {trial.mutant} (`{trial.mutant.key}`). **{kind}**: {why}\n"
    return out


def _row(name: str, trials: Sequence[Trial], places: str, verdicts: Mapping[str, SurvivorVerdict]) -> str:
    survived = [trial for trial in trials if trial.fate is Fate.SURVIVED]
    equivalent = sum(1 for t in survived if t.mutant.key in verdicts and verdicts[t.mutant.key].equivalent)
    killed, holes = len(trials) - len(survived), len(survived) - equivalent
    score = f"{100 * killed / (killed + holes):.1f} %" if killed + holes else "-"
    minutes = f"{sum(trial.seconds for trial in trials) / 60:.0f}"
    cells = (name, places, len(trials), killed, len(survived), equivalent, holes, score, minutes)
    return f"| {' | '.join(map(str, cells))} |"
