"""The page of the mutation score: one row per room, then every survivor with its verdict."""

from collections.abc import Mapping, Sequence

from tests.mutation.mutants import Fate, SurvivorVerdict, Trial

_HEAD = """# Mutation score

Each mutant is one small change of the code that decides what is true and who is right: another comparison, a number
plus one, `and` for `or`, a loop that does not run. It is *killed* where a test fails, or hangs. A survivor is
*equivalent* (no input can tell it from the code) or a *hole* in the tests. The score leaves equivalent ones out.

A room's sample is so many of its places, drawn by number, with one change at each. A mutant meets those tests of its
room that execute its line (`tests/mutation/rooms.py`), for at most 40 seconds as measured while lines were watched:
the quickest first, where a second case of a test counts as twice as long. Kernels are changed too: they run as plain
Python, those that C calls are compiled anew. A survivor becomes a test where that is possible: the score says what
the tests hold now, and not what they would find among other mutants. Minutes are those of a processor.

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
    rows = {
        room: _counts([trial for trial in trials if trial.room == room], places[room], verdicts)
        for room in dict.fromkeys(trial.room for trial in trials)
    }
    lines = [_line(room, row) for room, row in rows.items()]
    if len(rows) > 1:
        lines.append(_line("**all**", [sum(column) for column in zip(*rows.values(), strict=True)]))
    survivors = [_survivor(trial, verdicts) for trial in trials if trial.fate is Fate.SURVIVED]
    head = _HEAD.format(command=command, date=date)
    return head + "\n".join(lines) + "\n\n## Survivors\n\n" + ("\n".join(survivors) or "None.") + "\n"


def _counts(trials: Sequence[Trial], places: int, verdicts: Mapping[str, SurvivorVerdict]) -> list[int]:
    """Places, mutants tried, killed, survived, equivalent, holes, minutes."""
    survived = [trial for trial in trials if trial.fate is Fate.SURVIVED]
    equivalent = sum(1 for t in survived if t.mutant.key in verdicts and verdicts[t.mutant.key].equivalent)
    killed, holes = len(trials) - len(survived), len(survived) - equivalent
    minutes = round(sum(trial.seconds for trial in trials) / 60)
    return [places, len(trials), killed, len(survived), equivalent, holes, minutes]


def _line(name: str, row: Sequence[int]) -> str:
    *counts, minutes = row
    killed, holes = counts[2], counts[5]
    score = f"{100 * killed / (killed + holes):.1f} %" if killed + holes else "-"
    return f"| {' | '.join(map(str, (name, *counts, score, minutes)))} |"


def _survivor(trial: Trial, verdicts: Mapping[str, SurvivorVerdict]) -> str:
    verdict = verdicts.get(trial.mutant.key)
    kind = "open" if verdict is None else "equivalent" if verdict.equivalent else "hole"
    why = "no verdict yet" if verdict is None else verdict.why
    return f"* {trial.mutant} (`{trial.mutant.key}`). **{kind}**: {why}"
