"""What runs inside a process of `tests.hostile.coverage_guided`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile.bounds import Fate, try_input
from tests.hostile.target import Target, numbered_input
from tests.hostile.targets import TARGETS

_MEMORY = 4096  # MB that libFuzzer allows the process
_WRITE_EVERY = 256  # inputs


class _Exploration:
    """What came of the inputs so far, written to a file now and then: libFuzzer ends the process by itself."""

    def __init__(self, target: Target, path: Path) -> None:
        self.target, self.path = target, path
        self.counts = dict.fromkeys((fate.value for fate in Fate), 0)
        self.failures: dict[str, tuple[str, str]] = {}
        self.seconds = self.worst_seconds = 0.0
        self.worst_memory = self.inputs = 0

    def take(self, content: bytes) -> None:
        one = try_input(self.target, content)
        self.inputs += 1
        self.counts[one.fate.value] += 1
        self.seconds += one.seconds
        if one.fate is Fate.FAILED:
            self.failures.setdefault(one.failure, (one.told, content.hex()))
        else:
            self.worst_seconds = max(self.worst_seconds, one.seconds)
            self.worst_memory = max(self.worst_memory, one.memory)
        if self.inputs % _WRITE_EVERY == 0:
            self.write()

    def write(self) -> None:
        failures = [(kind, *told) for kind, told in self.failures.items()]
        said = {"counts": self.counts, "failures": failures, "seconds": self.seconds}
        said |= {"worst_seconds": self.worst_seconds, "worst_memory": self.worst_memory}
        aside = self.path.with_suffix(".new")
        aside.write_text(json.dumps(said), encoding="utf-8")
        os.replace(aside, self.path)


def explore(engine: Any, name: str, seed: int, first: int, count: int, folder: str) -> None:
    """``count`` inputs that the engine chooses; it does not come back."""
    target = TARGETS[name]
    seeds = target.seeds()
    corpus = Path(folder) / "corpus"
    corpus.mkdir()
    for number, content in enumerate(seeds):
        (corpus / str(number)).write_bytes(content)
    for number in range(first, first + 64):
        (corpus / f"damaged-{number}").write_bytes(numbered_input(target, seeds, seed, number))
    exploration = _Exploration(target, Path(folder) / "said.json")
    exploration.write()

    def mutate(content: bytes, most: int, number: int) -> bytes:
        dice = Random(number)
        changed = engine.Mutate(content, most) if dice.randrange(3) == 0 else target.damage(content, dice, seeds)
        return target.mend(changed)[:most]

    def take(content: bytes) -> None:
        exploration.take(content)
        if exploration.inputs >= count:
            exploration.write()
            os._exit(0)

    options = [f"-seed={seed}", f"-rss_limit_mb={_MEMORY}", "-timeout=60", "-max_len=1048576", "-verbosity=0"]
    engine.Setup(["testbed", *options, f"-artifact_prefix={folder}/", str(corpus)], take, custom_mutator=mutate)
    engine.Fuzz()
