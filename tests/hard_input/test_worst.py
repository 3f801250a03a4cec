"""No reader forgets the budget: the worst files, made for a small budget, are refused by it or read within it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from testbed.words.budget import VARIABLE
from testbed.words.errors import BudgetExceeded, TestbedError, UnwindError
from tests.hard_input.catalogue import WORST, WorstFile

SIZE = 40_000
SMALL = "mapped=1500000,unpacked=1000000,entries=9000,parts=300,steps=30000,seconds=20"
SECONDS = 8.0  # CPU time within a small budget; a reader without one takes minutes
# What these may do within a small budget; every other file goes over a limit and is refused.
WITHIN = frozenset(
    (
        *("most_symbols", "small_units", "many_pieces", "small_json", "small_pieces"),
        *("long_cie", "expressions", "pushes", "overlapping_fdes"),
    )
)


@pytest.mark.parametrize("worst", WORST, ids=lambda worst: worst.make.__name__)
def test_the_worst_file_is_refused_or_cheap(worst: WorstFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(worst.make(SIZE))
    monkeypatch.setenv(VARIABLE, SMALL)
    began, refused = time.process_time(), False
    try:
        worst.read(path)
    except (TestbedError, UnwindError) as error:
        refused = isinstance(error, BudgetExceeded) or "--file-limit" in str(error)
    assert time.process_time() - began < SECONDS
    assert refused or worst.make.__name__ in WITHIN or worst.reader == "instructions", "it was read: nothing bounds it"
