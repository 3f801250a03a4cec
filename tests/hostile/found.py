"""Failing inputs as files: the folder of a run, and the corpus that the suite tries.

A file is called ``<target>-<what it shows>``; its bytes are the input. Beside one that a run wrote lies ``.txt``: what
was said, and the command that makes the input again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.hostile.bounds import Fate, try_input
from tests.hostile.minimise import minimised
from tests.hostile.target import Target, numbered_input
from tests.hostile.trying import Failure

CORPUS = Path(__file__).with_name("corpus")
_COSTLY = ("crash", "hang", "time", "memory")  # kinds that are not made small here: each try would cost as much


def write_failure(target: Target, seed: int, failure: Failure, folder: Path) -> Path:
    """Write a failing input, made as small as it gets, and beside it what was said."""
    again = f"python -m tests.hostile -t {target.name} -n 1 --seed {seed} --first {failure.number}"
    if failure.content is None:
        content = numbered_input(target, target.seeds(), seed, failure.number)
    else:
        content, again = failure.content, f"python -m tests.hostile -t {target.name} --coverage --seed {seed}"
    if not failure.kind.startswith(_COSTLY) and _fails_alone(target, content, failure.kind):
        content = minimised(target, content, failure.kind)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.name}-{hashlib.sha256(content).hexdigest()[:8]}"
    path.write_bytes(content)
    path.with_name(path.name + ".txt").write_text(f"{failure.kind}\n{again}\n\n{failure.told}\n", encoding="utf-8")
    return path


def _fails_alone(target: Target, content: bytes, kind: str) -> bool:
    tried = try_input(target, content)
    return tried.fate is Fate.FAILED and tried.failure == kind


def corpus() -> list[Path]:
    """The inputs that failed once."""
    return sorted(path for path in CORPUS.iterdir() if not path.name.startswith(".") and path.suffix != ".py")


def target_of(path: Path) -> str:
    """The target of an input of the corpus."""
    return path.name.partition("-")[0]
