"""What is known of mutants that survived: equivalent, and why; or a hole, and the test that closes it.

A verdict is kept under the mutant's key (`tests.mutation.mutants.Mutant.key`), which stays while the changed line
stays. A survivor without a verdict is an open hole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("verdicts.json")


@dataclass(frozen=True, slots=True)
class SurvivorVerdict:
    """``equivalent``: no input can tell it from the code, because of ``why``; else ``why`` names the open hole."""

    equivalent: bool
    why: str


def known_verdicts(file: Path = FILE) -> Mapping[str, SurvivorVerdict]:
    """The verdicts by key: ``{key: {"mutant": text, "equivalent": bool, "why": sentence}}``."""
    if not file.exists():
        return {}
    told = json.loads(file.read_text(encoding="utf-8"))
    return {key: SurvivorVerdict(bool(said["equivalent"]), str(said["why"])) for key, said in told.items()}
