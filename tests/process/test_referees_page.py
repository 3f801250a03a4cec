"""The rows of some tools on the page of real processes are made anew, and no others."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from testbed.profiling.result import StrategyShare
from testbed.referee import REFEREES
from testbed.report.referees_text import PAGE, section_of, with_section
from testbed.verdicts.counts import SiteKind
from testbed.words.outcome import Outcome
from tests.process import referees
from tests.process.referees import ON_ARM32, with_rows


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
