"""Trials in a file, a line of JSON each: a run of hours can be interrupted, and repeated after a hole is closed.

What was killed stays killed as long as its line stays in its function, as a verdict does. Of a survivor the next run
tells whether a test notices it by now.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.trial import Fate, Trial


class KeptTrials:
    """The trials of a file, read at once and added to one by one; without a file, none."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None and file.exists() else []
        every = [json.loads(line) for line in lines]
        self._killed = {(told["room"], told["key"]): told for told in every if told["fate"] != Fate.SURVIVED.value}

    def killed(self, room: str, mutant: Mutant) -> Trial | None:
        """The trial in which a mutant of a room was noticed; None where it is not known to be."""
        told = self._killed.get((room, mutant.key))
        return None if told is None else Trial(room, mutant, Fate(told["fate"]), told["stage"], told["seconds"])

    def add(self, trial: Trial) -> None:
        """A trial more, written at once."""
        if self._file is None:
            return
        m = trial.mutant
        told = {"room": trial.room, "key": m.key, "module": m.module, "line": m.line, "operator": m.operator}
        told |= {"before": m.before, "after": m.after}
        told |= {"fate": trial.fate.value, "stage": trial.stage, "seconds": round(trial.seconds, 1)}
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(told) + "\n")
