"""What came of every batch, a line of JSON each in a file: runs of hours on several days are summed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

from tests.hostile.bounds import Fate
from tests.hostile.trying import Failure, Tally

_NUMBERS = ("seconds", "worst_seconds", "worst_memory")


class KeptBatches:
    """The batches of a file, and those of this run, which are added to it as soon as they are known."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.inputs_now = 0
        self.totals: dict[str, Tally] = {}
        self.seeds: defaultdict[str, set[int]] = defaultdict(set)
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                said = json.loads(line)
                counts = Counter({Fate(fate): count for fate, count in said["counts"].items()})
                failures = [Failure(-1, kind, "") for kind in said["failures"]]
                self._sum(Tally(said["target"], counts, failures, *(said[name] for name in _NUMBERS)), said["seed"])

    def add(self, tally: Tally, seed: int, first: int) -> None:
        said = {
            "target": tally.target,
            "seed": seed,
            "first": first,
            "counts": {fate.value: tally.counts[fate] for fate in Fate},
            "failures": [failure.kind for failure in tally.failures],
            **{name: round(getattr(tally, name), 4) for name in _NUMBERS},
        }
        self.inputs_now += tally.inputs
        self._sum(tally, seed)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(said) + "\n")

    def _sum(self, tally: Tally, seed: int) -> None:
        self.totals.setdefault(tally.target, Tally(tally.target)).add(tally)
        self.seeds[tally.target].add(seed)
