"""Of small mistakes in tables nearly all are noticed, and none is blamed that changes nothing.

Not noticed are a few in `longjmp`: its rows say that registers are undefined while it loads the target's; a row that
says they still hold the caller's values is right by luck there, in that run.
"""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.arch import ARCHES
from tests.checks.table_mutants import Counts, assembly_runs, counted

PART = 6  # of so many programs one is tried unless all are asked for
LEAST = 0.99


@pytest.mark.parametrize("arch", ARCHES)
def test_mistakes_in_rows_are_noticed(arch: str, request: pytest.FixtureRequest) -> None:
    counts = Counts(Counter(), Counter(), Counter(), [])
    every = request.config.getoption("--everything")
    for run in assembly_runs(ARCHES[arch], slice(None) if every else slice(1, None, PART)):
        counted(run, counts)
    print(f"\n{arch}: made {dict(counts.made)}, changed {dict(counts.changed)}, noticed {dict(counts.noticed)}")
    assert set(counts.changed) == {"deleted", "late", "shifted", "other base"}
    assert counts.changed.total() > 200
    assert counts.share >= LEAST, counts.unseen
