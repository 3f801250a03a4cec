"""An analysis of all instructions of a file is whole, or refused: by steps, and by time."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.image import read_image
from testbed.words.budget import budget_of
from testbed.words.errors import BudgetExceeded
from tests.hard_input.worst_tables import branches
from unwinders import UNWINDERS


@pytest.mark.parametrize("limit", ["analysis=0.02", "steps=2000"])
def test_what_would_be_half_a_table_is_none(limit: str, tmp_path: Path) -> None:
    path = tmp_path / "branches"
    path.write_bytes(branches(12_000))
    rows = UNWINDERS["prologue_analysis"].rows
    assert rows is not None
    with pytest.raises(BudgetExceeded, match=f"--file-limit {limit.partition('=')[0]}=") as caught:
        rows(read_image(path, budget=budget_of(limit)))
    assert caught.value.path == path
