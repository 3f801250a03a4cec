"""The page of the mutation score: one row per room, then every survivor with its verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from tests.mutation.mutants import Fate, SurvivorVerdict, Trial
from tests.mutation.rooms import ROOMS, MutatedRoom

_HEAD = """# Mutation score

Each mutant is one small change of the code that decides what is true and who is right: another comparison, a number
plus one, `and` for `or`, a loop that does not run. It is *killed* where a test fails, or hangs. A survivor is
*equivalent* (no input can tell it from the code) or a *hole* in the tests. The score leaves equivalent ones out.

A room's sample is so many of its places, drawn by number, with one change at each. A mutant meets those tests of its
room that execute its line (`tests/mutation/rooms.py`), for at most 40 seconds as measured while lines were watched:
the quickest first, where a second case of a test counts as twice as long. Kernels are changed too: they run as plain
Python, those that C calls are compiled anew. A survivor becomes a test where that is possible: the score says what
the tests hold now, and not what they would find among other mutants. Minutes are those of a processor. Rooms that the
command left out are as the page before had them; up to 2026-11-23 without kernels.

Made by `{command}` on {date}.

| room | places | mutants tried | killed | survived | equivalent | holes | score | minutes | tried on |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---|
"""


def page(
    trials: Sequence[Trial],
    places: Mapping[str, int],
    verdicts: Mapping[str, SurvivorVerdict],
    *,
    command: str,
    date: str,
    before: str = "",
) -> str:
    """The page as Markdown; ``places`` says how many there are in each room.

    Of rooms that were not tried now it has what the page ``before`` said, with its date.
    """
    rooms = list(dict.fromkeys(trial.room for trial in trials))
    rows = {room: _row([t for t in trials if t.room == room], places[room], verdicts, date) for room in rooms}
    earlier = {room: row for room, row in _rows_of(before).items() if room not in rooms and room in ROOMS}
    rows = {room: ({**rows, **earlier})[room] for room in ROOMS if room in rows or room in earlier}
    lines = [_line(name, row) for name, row in rows.items()]
    if len(rows) > 1:
        counts = [sum(column) for column in zip(*(row.counts for row in rows.values()), strict=True)]
        lines.append(_line("**all**", _RoomCounts(tuple(counts), "")))
    out = _HEAD.format(command=command, date=date) + "\n".join(lines) + "\n\n## Survivors\n\n"
    survivors = [_survivor(trial, verdicts) for trial in trials if trial.fate is Fate.SURVIVED]
    survivors += [line for line in before.splitlines() if any(_is_of(line, ROOMS[room]) for room in earlier)]
    return out + ("\n".join(survivors) or "None.") + "\n"


@dataclass(frozen=True, slots=True)
class _RoomCounts:
    """``counts``: places, mutants tried, killed, survived, equivalent, holes, minutes."""

    counts: tuple[int, ...]
    date: str


def _row(trials: Sequence[Trial], places: int, verdicts: Mapping[str, SurvivorVerdict], date: str) -> _RoomCounts:
    survived = [trial for trial in trials if trial.fate is Fate.SURVIVED]
    equivalent = sum(1 for t in survived if t.mutant.key in verdicts and verdicts[t.mutant.key].equivalent)
    killed, holes = len(trials) - len(survived), len(survived) - equivalent
    minutes = round(sum(trial.seconds for trial in trials) / 60)
    return _RoomCounts((places, len(trials), killed, len(survived), equivalent, holes, minutes), date)


def _line(name: str, row: _RoomCounts) -> str:
    *counts, minutes = row.counts
    killed, holes = counts[2], counts[5]
    score = f"{100 * killed / (killed + holes):.1f} %" if killed + holes else "-"
    return f"| {' | '.join(map(str, (name, *counts, score, minutes, row.date)))} |"


def _rows_of(text: str) -> Mapping[str, _RoomCounts]:
    """The rows of a page by room; a page whose table has no dates has one for all."""
    of_all = re.search(r" on (\d{4}-\d\d-\d\d)\.", text)
    found = {}
    for line in text.splitlines():
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) in (8, 9) and cells[0].isdigit():
            date = cells[8] if len(cells) == 9 else of_all[1] if of_all else ""
            found[name] = _RoomCounts((*map(int, cells[:6]), int(cells[7])), date)
    return found


def _survivor(trial: Trial, verdicts: Mapping[str, SurvivorVerdict]) -> str:
    verdict = verdicts.get(trial.mutant.key)
    kind = "open" if verdict is None else "equivalent" if verdict.equivalent else "hole"
    why = "no verdict yet" if verdict is None else verdict.why
    return f"* {trial.mutant} (`{trial.mutant.key}`). **{kind}**: {why}"


def _is_of(line: str, room: MutatedRoom) -> bool:
    """Whether a line of the survivors is one of a room."""
    return line.startswith("* ") and any(fnmatch(line[2:].partition(":")[0], pattern) for pattern in room.modules)
