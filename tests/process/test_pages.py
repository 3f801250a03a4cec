"""What the measurements of processes find and write: defects, shares, rows of tools."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from docs.referees_page import PAGE, section_of, with_section
from testbed.profiling.judge import watch_process
from testbed.profiling.result import StrategyShare, WatchedProcess
from testbed.referee import REFEREES
from testbed.verdicts.counts import SiteKind
from testbed.words.outcome import Outcome
from tests.process import referees
from tests.process.builds import ran
from tests.process.defects import DEFECTS, LibraryDefect, found_in
from tests.process.equal import ProgramRow, head_of
from tests.process.referees import ON_ARM32, with_rows

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


# The head of docs/results/processes-shares.md: where nothing explains what is said, and what is not judged.


def row(name: str, build: str, opened: tuple[tuple[str, str, int, str], ...] = ()) -> ProgramRow:
    shares = {"lr_leaf": (100, 90, 0, 0, 10, sum(each[2] for each in opened))} if opened else {}
    return ProgramRow(name, "arm64", build, True, 1000, 1, "exit 0", "", 0, shares, opened)


def test_places_are_told_with_those_of_most_steps_first_and_what_was_not_judged_by_program() -> None:
    head = "\n".join(
        head_of(
            [
                row("hello", "gcc static", (("lr_leaf", "a in libc", 1, "a+0x4"), ("lr_leaf", "b in libc", 2, "b"))),
                row("hello", "gcc dynamic", (("lr_leaf", "a in libc", 4, "a+0x8"),)),
                row("sort", "gcc static"),
                row("sort", "gcc dynamic"),
                row("busybox sh", "Debian"),
            ]
        )
    )
    assert head.startswith("2 programs and builds, 2,000 steps, 7 that nothing explains.\n")
    assert "Compared, and not judged: 3 of together 3,000 steps." in head
    assert [line for line in head.splitlines() if line.startswith("- ")] == [
        "- a in libc, by `lr_leaf`: 5 steps in 2 builds, as hello arm64 gcc dynamic",
        "- b in libc, by `lr_leaf`: 2 steps in 1 builds, as hello arm64 gcc static",
        "- sort: 2 builds, 2,000 steps",
        "- busybox sh: 1 builds, 1,000 steps",
    ]


# The rows of some tools on the page of real processes are made anew, and no others.


def section() -> str:
    return section_of(PAGE.read_text(encoding="utf-8"))


def test_the_rows_of_a_tool_are_replaced_in_both_tables() -> None:
    newer = section().replace("| `symbolic` |", "| `symbolic` | newer").replace("| `gdb` |", "| `gdb` | newer")
    found = with_rows(section(), newer, ["symbolic"])
    assert found == section().replace("| `symbolic` |", "| `symbolic` | newer") != section()


def test_a_tool_may_have_more_reasons_or_fewer() -> None:
    lines = section().split("\n")
    last = max(i for i, line in enumerate(lines) if line.startswith("| `symbolic` |"))
    more = "\n".join([*lines[: last + 1], "| `symbolic` | one more |", *lines[last + 1 :]])
    assert with_rows(section(), more, ["symbolic"]) == more
    assert with_rows(more, section(), ["symbolic"]) == section()
    assert with_rows(section(), more, ["gdb"]) == section()


def test_rows_of_other_runs_are_not_mixed_in() -> None:
    with pytest.raises(SystemExit, match="other runs"):
        with_rows(section(), section().replace(" runs of ", " other runs of "), ["symbolic"])


def test_a_tool_that_is_not_asked_on_every_target_is_made_anew_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs of the page are those of all targets, whoever is asked there."""
    page, exact = tmp_path / "referees.md", [50]
    page.write_text(with_section("# Real unwinders\n", "## Real processes"), encoding="utf-8")
    monkeypatch.setattr(referees, "PAGE", page)
    monkeypatch.setattr(referees, "ran", _run)
    monkeypatch.setattr(referees, "watch_process", lambda run: run)
    monkeypatch.setattr(referees, "judge_process", lambda run, tool, **_: _judged(tool.name, exact[0]))
    tools = {unwinder.name: unwinder for each in REFEREES.values() for unwinder in each.unwinders}
    monkeypatch.setattr(referees, "present", lambda names: {name: tools[name] for name in names})
    _make(monkeypatch)
    whole = page.read_text(encoding="utf-8")
    assert " 36 runs of 36,000 steps." in whole and "drgn" not in ON_ARM32
    exact[0] = 30
    _make(monkeypatch, "--tool", "drgn")
    before, after = (text.split("\n") for text in (whole, page.read_text(encoding="utf-8")))
    assert [old.split("`")[1] for old, new in zip(before, after, strict=True) if old != new] == ["drgn"]


def _run(program: str, target: str, link: str) -> SimpleNamespace:
    arch = "arm32" if target == "thumb" else target
    sections = {".eh_frame": None, ".eh_frame_hdr": None, ".ARM.exidx": None}
    image = SimpleNamespace(arch=SimpleNamespace(name=arch), sections=sections)
    return SimpleNamespace(steps=1000, arch=image.arch, images=[SimpleNamespace(image=image)])


def _judged(name: str, exact: int) -> StrategyShare:
    return StrategyShare(
        name=name,
        sampled=True,
        kinds={SiteKind(Outcome.EXACT): exact, SiteKind(Outcome.STOPPED, clause="a place"): 60 - exact},
    )


def _make(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["referees", *arguments])
    with pytest.raises(SystemExit) as ended:
        referees.main()
    assert not ended.value.code
