"""What the measurements of processes find and write: defects, shares, rows of tools."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from docs.referees_page import isa_of, referees_markdown
from testbed.process.tracks import LeftStacks
from testbed.profiling.judge import watch_process
from testbed.profiling.result import WatchedProcess
from testbed.referee import REFEREES, Found
from tests.process.builds import ran
from tests.process.defects import DEFECTS, LibraryDefect, found_in
from tests.process.equal import ProgramRow, head_of

CHEAP = [each for each in DEFECTS if each.program == "hello"]


@cache
def watched(program: str, target: str, link: str) -> WatchedProcess:
    return watch_process(ran(program, target, link))


@pytest.mark.parametrize("defect", CHEAP, ids=lambda each: f"{each.whose}-{each.target}-{each.link}")
def test_a_defect_is_found_again_by_running(defect: LibraryDefect) -> None:
    places = found_in(defect, watched(defect.program, defect.target, defect.link))
    assert places and all(place.steps > 0 for place in places)


def test_no_two_entries_are_one_defect_and_at_least_ten_are_no_design() -> None:
    assert len({(each.title, each.target) for each in DEFECTS}) == len(DEFECTS)
    assert sum(not each.by_design for each in DEFECTS) >= 10


# The head of docs/results/processes-shares.md: what differs, and where nothing explains what is said.


def row(name: str, build: str, opened: tuple[tuple[str, str, int, str], ...] = ()) -> ProgramRow:
    shares = {"lr_leaf": (100, 90, 0, 0, 10, sum(each[2] for each in opened))}
    return ProgramRow(name, "arm64", build, True, 1000, 1, "exit 0", "", 0, shares, opened)


def test_places_are_told_with_those_of_most_steps_first() -> None:
    head = "\n".join(
        head_of(
            [
                row("hello", "gcc static", (("lr_leaf", "a in libc", 1, "a+0x4"), ("lr_leaf", "b in libc", 2, "b"))),
                row("hello", "gcc dynamic", (("lr_leaf", "a in libc", 4, "a+0x8"),)),
                replace(row("vforked", "gcc static"), differs="its output", undecided=2),
            ]
        )
    )
    assert head.startswith("2 of 3 are equal, 1 differ as is named below.\n7 of 3,000 steps are open.\n")
    assert "leaves 2 undecided, 0.0667 %." in head and "*Named*, vforked: qemu-user" in head
    assert [line for line in head.splitlines() if line.startswith("- ")] == [
        "- a in libc, by `lr_leaf`: 5 steps in 2 builds, as hello arm64 gcc dynamic",
        "- b in libc, by `lr_leaf`: 2 steps in 1 builds, as hello arm64 gcc static",
    ]


# The page of the real unwinders: what is counted where.


LIBDW = replace(REFEREES["libdw"], find=lambda: Found("9.9", "/somewhere"))


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
    page = referees_markdown([], {"libdw": replace(LIBDW, find=lambda: None)}, "")
    assert "not installed" in page
    assert page.count("| - | - | - | - |") == 1


def test_a_recipe_builds_for_one_instruction_set() -> None:
    assert [isa_of(*unit) for unit in (("clang-O2", "arm32"), ("clang-thumb-O2", "arm32"), ("macho-O2", "arm64"))] == [
        "a32",
        "thumb",
        "arm64",
    ]


# Which thread left a stack, and which one goes on there.


# Thread 1 leaves 0x1000 by a call that switches away, thread 2 goes on one word further up and calls a deeper frame.
ONE, TWO = [0x1008, 0x1000, 0x9000, 0x8FF8], [0x5000, 0x1008, 0x0F00, 0x1008]
SP = np.array(ONE + TWO + [0x0F00, 0x9000], np.uint64)
PIECES = {1: [(0, 4), (8, 10)], 2: [(4, 8)]}


def test_a_stack_is_taken_over_where_sp_comes_to_what_another_thread_left() -> None:
    """Not where a thread comes back to what it left itself; the first one took over what the second one had left."""
    assert LeftStacks(8).taken_over(SP, PIECES) == {2: [5], 1: [8]}
    assert LeftStacks(8).taken_over(SP, {1: [(0, 10)]}) == {}


def test_it_is_found_in_pieces_too() -> None:
    for cut in range(1, len(SP)):
        left, found = LeftStacks(8), dict[int, list[int]]()
        for start, end in ((0, cut), (cut, len(SP))):
            spans = {
                number: [(max(a, start) - start, min(b, end) - start) for a, b in each if a < end and b > start]
                for number, each in PIECES.items()
            }
            own = {number: each for number, each in spans.items() if each}
            for number, steps in left.taken_over(SP[start:end], own).items():
                found.setdefault(number, []).extend(start + step for step in steps)
        assert found == {2: [5], 1: [8]}, cut
