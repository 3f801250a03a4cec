"""Trials in a file, a line of JSON each: a run of hours can be interrupted, and repeated after a hole is closed.

What was killed stays killed as long as its line stays in its function, as a verdict does, and what survived and is
equivalent survives. Of other survivors the next run tells whether a test notices them by now.
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
        self._told = {(told["room"], told["key"]): told for told in every}

    def settled(self, room: str, mutant: Mutant, *, equivalent: bool) -> Trial | None:
        """The trial that need not be made again; None where there is none yet, or a survivor may be noticed by now."""
        trial = self.last(room, mutant)
        return None if trial is not None and trial.fate is Fate.SURVIVED and not equivalent else trial

    def last(self, room: str, mutant: Mutant) -> Trial | None:
        """The last trial of a mutant, whatever became of it; None where there is none yet."""
        told = self._told.get((room, mutant.key))
        return None if told is None else Trial(room, mutant, Fate(told["fate"]), told["stage"], told.get("cpu_seconds"))

    def add(self, trial: Trial) -> None:
        """A trial more, written at once."""
        if self._file is None:
            return
        m = trial.mutant
        told = {"room": trial.room, "key": m.key, "module": m.module, "line": m.line, "operator": m.operator}
        told |= {"before": m.before, "after": m.after}
        told |= {"fate": trial.fate.value, "stage": trial.stage, "cpu_seconds": trial.seconds}
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(told) + "\n")
