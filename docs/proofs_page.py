"""results/proofs.md: what both witnesses of the truth say of the corpus, of generated programs and of processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.process.builds import built

ROOT = Path(__file__).parents[1]
COMMANDS = (
    ("every unit of the corpus", "matrix --cross-check -j 1"),
    ("programs from 200 seeds, on each instruction set", "fuzz --cross-check -n 200 -r keystone* -j 1"),
)
PROCESSES = {
    "contexts": ("x86_64", "arm64", "a32", "thumb"),
    "jumps": ("x86_64", "arm64", "a32", "thumb"),
    "signals": ("x86_64", "arm64", "a32", "thumb"),
    "threads": ("x86_64", "arm64", "a32", "thumb"),
    "exceptions": ("x86_64", "arm64", "a32", "thumb"),
}
BUDGET = "5000000"  # steps; the static runtime of C++ sorts its tables at the first throw


def proofs_page() -> str:
    """The page, with today's date."""
    rows = [_row(what, f"testbed {' '.join(_quoted(words))}", [words]) for what, words in _of_the_corpus()]
    for name, targets in PROCESSES.items():
        files = [built(name, target, "static") for target in targets]
        commands = [["run", "--cross-check", "--budget", BUDGET, str(file)] for file in files]
        rows.append(
            _row(f"`{name}`: {', '.join(targets)}", f"testbed run --cross-check --budget {BUDGET} ./program", commands)
        )
    introduction = (ROOT / "docs" / "results" / "proofs.intro.md").read_text(encoding="utf-8")
    return introduction.format(rows="\n".join(rows), date=time.strftime("%Y-%m-%d", time.gmtime()))


def _of_the_corpus() -> list[tuple[str, list[str]]]:
    return [(what, command.split()) for what, command in COMMANDS]


def _quoted(words: Sequence[str]) -> list[str]:
    return [f'"{word}"' if "*" in word else word for word in words]


def _row(what: str, shown: str, commands: Sequence[Sequence[str]]) -> str:
    """A line of the table: some commands, added up. Raises ValueError where one did not do its work."""
    before, said = os.times(), [_said(words) for words in commands]
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    runs = sum(len(each["runs"]) for each in said)
    cells = (runs, *(sum(each[name] for each in said) for name in ("steps", "disagreed", "transition", "unfollowed")))
    return f"| {what} | `{shown}` | {' | '.join(f'{cell:,}' for cell in cells)} | {seconds:.0f} s |"


def _said(words: Sequence[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "testbed.cli", *words, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise ValueError(f"testbed {' '.join(words)}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    if found["failed"] or not found["steps"]:
        raise ValueError(f"testbed {' '.join(words)}: {found['failed']} failed, {found['steps']} steps")
    return found
