"""The page of the real unwinders: what is counted where."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from docs.referees_page import isa_of, referees_markdown
from testbed.referee import REFEREES, Found

LIBDW = dataclasses.replace(REFEREES["libdw"], find=lambda: Found("9.9", "/somewhere"))


def cell(arch: str, recipe: str, **counts: Any) -> dict[str, Any]:
    cell = {"unwinder": "libdw", "arch": arch, "recipe": recipe, "outcomes": {"exact": 100}}
    return {**cell, "callers": {"said": 10, "true": 20, "found": 9}, **counts}


def test_shares_are_of_judged_sites_per_instruction_set_added_over_units() -> None:
    cells = [
        cell("arm64", "clang-O2"),
        cell("arm64", "clang-O2", outcomes={"exact": 50, "refused": 10, "stopped": 20, "wrong": 20}),
        cell("arm32", "clang-thumb-O2", outcomes={"exact": 99, "crashed": 1}),
    ]
    page = referees_markdown(cells, {"libdw": LIBDW}, "testbed matrix --referees")
    line = next(line for line in page.splitlines() if line.startswith("| libdw"))
    fields = [field.strip() for field in line.strip("|").split("|")]
    assert fields[3:] == ["-", "75.0 / 15.0 / 10.0", "-", "99.0 / 1.0 / 0.0 (X 1)"]
    assert "which is 300 judged sites" in page
    assert re.search(r"--referees` on \d{4}-\d\d-\d\d from$", page, re.MULTILINE)
    assert "| `libdw` | - | 90.0 % / 45.0 % | - | 90.0 % / 45.0 % |" in page
    assert "- libdw: 9.9; " in page
    assert "/somewhere" not in page


def test_a_referee_that_is_missing_is_said_to_be_so() -> None:
    page = referees_markdown([], {"libdw": dataclasses.replace(LIBDW, find=lambda: None)}, "")
    assert "not installed" in page
    assert page.count("| - | - | - | - |") == 1


def test_a_recipe_builds_for_one_instruction_set() -> None:
    assert [isa_of(*unit) for unit in (("clang-O2", "arm32"), ("clang-thumb-O2", "arm32"), ("macho-O2", "arm64"))] == [
        "a32",
        "thumb",
        "arm64",
    ]
