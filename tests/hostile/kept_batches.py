"""What came of every batch, a line of JSON each in a file: runs of hours on several days are summed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hostile.bounds import Fate
from tests.hostile.trying import Tally


@dataclass
class TargetTotal:
    """All batches of one target: inputs by fate, kinds of failures, processor time, and what cost most."""

    counts: dict[str, int] = field(default_factory=dict)
    failures: set[str] = field(default_factory=set)
    seconds: float = 0.0
    worst_seconds: float = 0.0
    worst_memory: int = 0
    seeds: set[int] = field(default_factory=set)

    @property
    def inputs(self) -> int:
        return sum(self.counts.values())

    def add(self, said: Mapping[str, Any]) -> None:
        for fate, count in said["counts"].items():
            self.counts[fate] = self.counts.get(fate, 0) + count
        self.failures |= set(said["failures"])
        self.seconds += said["seconds"]
        self.worst_seconds = max(self.worst_seconds, said["worst_seconds"])
        self.worst_memory = max(self.worst_memory, said["worst_memory"])
        self.seeds.add(said["seed"])


class KeptBatches:
    """The batches of a file, and those of this run, which are added to it as soon as they are known."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.inputs_now = 0
        self.totals: dict[str, TargetTotal] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                said = json.loads(line)
                self.totals.setdefault(said["target"], TargetTotal()).add(said)

    def add(self, tally: Tally, seed: int, first: int) -> None:
        said = {
            "target": tally.target,
            "seed": seed,
            "first": first,
            "counts": {fate.value: tally.counts[fate] for fate in Fate},
            "failures": [failure.kind for failure in tally.failures],
            "seconds": round(tally.seconds, 3),
            "worst_seconds": round(tally.worst_seconds, 4),
            "worst_memory": tally.worst_memory,
        }
        self.inputs_now += tally.inputs
        self.totals.setdefault(tally.target, TargetTotal()).add(said)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(said) + "\n")
