"""The head of docs/processes-shares.md: where nothing explains what is said, and what is not judged."""

from __future__ import annotations

import json
from pathlib import Path

from tests.process.judged import SharesRow, head_of


def row(build: str, opened: tuple[tuple[str, str, int, str], ...], unexplained: int) -> SharesRow:
    shares: dict[str, tuple[int, ...]] = {"lr_leaf": (100, 90, 0, 0, 10, unexplained)}
    return SharesRow("hello", "arm64", build, 1000, 1, "exit 0", "equal", 0, shares, opened)


def test_places_are_told_with_those_of_most_steps_first(tmp_path: Path) -> None:
    rows = [
        row("gcc static", (("lr_leaf", "a in libc", 1, "a+0x4"), ("lr_leaf", "b in libc", 2, "b")), 3),
        row("gcc dynamic", (("lr_leaf", "a in libc", 4, "a+0x8"),), 4),
        row("clang dynamic", (), 5),
    ]
    head = "\n".join(head_of(rows, tmp_path))
    assert head.startswith("3 programs and builds, 3,000 steps, 12 that nothing explains.\n")
    assert "1 of these builds, with 5 such steps, were judged before" in head
    first, second = (line for line in head.splitlines() if line.startswith("- "))
    assert first == "- a in libc, by `lr_leaf`: 5 steps in 2 builds, as hello arm64 gcc dynamic"
    assert second == "- b in libc, by `lr_leaf`: 2 steps in 1 builds, as hello arm64 gcc static"


def test_what_was_compared_and_not_judged_is_told_by_program(tmp_path: Path) -> None:
    compared = [("hello", "gcc static", 1000), ("hello", "gcc dynamic", 2000), ("busybox sh", "Debian", 500)]
    kept = [{"name": name, "target": "arm64", "build": build, "steps": steps} for name, build, steps in compared]
    (tmp_path / "rows.json").write_text(json.dumps(kept))
    head = "\n".join(head_of([row("gcc static", (), 0)], tmp_path))
    assert "Compared there, and not judged: 2 of together 2,500 steps." in head
    assert "- hello: 1 builds, 2,000 steps" in head and "- busybox sh: 1 builds, 500 steps" in head
