"""Tables of several versions of a compiler: what is counted as wrong, and how versions with equal counts are told."""

from __future__ import annotations

import pytest

from docs import compilers_page
from docs.compilers_page import _ranges, compiled
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES

pytest.importorskip("ziglang", reason="needs pip install ziglang")


def test_each_instruction_with_a_wrong_row_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers_page, "PROGRAMS", {"big_frame": PROGRAMS["big_frame"]})
    recipe = RECIPES["clang-O2"]
    tables = compiled(ARCHES["arm32"], recipe, recipe, "O2")
    assert [each.instruction.partition(" ")[0] for each in tables.wrong] == ["sub", "add", "pop"]
    assert tables.wrong[0].words == "CFA = sp+0x18, the true CFA is sp+0x50 here"
    assert tables.compared > len(tables.wrong) and not tables.failed
    right = compiled(ARCHES["x86_64"], recipe, recipe, "O2")
    assert not right.wrong and right.compared


def test_neighbours_with_equal_counts_are_told_together() -> None:
    counts = [("c 1", 0), ("c 2", 3), ("c 3", 3), ("c 4", 0), ("d 1", 3)]
    assert list(_ranges(counts)) == ["c 2 to c 3: 3", "d 1: 3"]
