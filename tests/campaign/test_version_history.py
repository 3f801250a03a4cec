"""Versions of a real unwinder side by side: what is counted, and which changes between neighbours are told."""

from __future__ import annotations

import dataclasses
import sys

import pytest
from rich.console import Console

from programs import PROGRAMS
from testbed.campaign.results import Unit
from testbed.campaign.version_history import VersionHistory, versioned
from testbed.cli import main
from testbed.report.score_text import history_page
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS

UNIT = Unit("leaf_call", "x86_64", "clang-asm")
# Versions of a made-up tool: one that follows the frame pointer, one that reads the table, and that again.
VERSIONS = [
    dataclasses.replace(UNWINDERS[name], name=f"toy@{version}")
    for version, name in (("1", "fp_chain"), ("2", "eh_frame"), ("3", "eh_frame"), ("4", "fp_chain"))
]


@pytest.fixture(scope="module")
def history() -> VersionHistory:
    absent = versioned(Unit("leaf_call", "x86_64", "no-such"), PROGRAMS, VERSIONS, most=8)
    return VersionHistory(tuple(each.name for each in VERSIONS), (versioned(UNIT, PROGRAMS, VERSIONS, most=8), absent))


def test_neighbours_are_compared_site_by_site(history: VersionHistory) -> None:
    assert history.counts("toy@2", "x86_64") == {Outcome.EXACT: 8}
    wrong = 8 - history.counts("toy@1", "x86_64")[Outcome.EXACT]
    assert wrong > 0 and not history.counts("toy@1", "arm64")
    (_, _, first), (_, _, second), (older, newer, third) = history.changes()
    assert [len(each) for each in (first, second, third)] == [wrong, 0, wrong]
    assert all(each.repaired and not each.broke for each in first)
    assert all(each.broke and not each.repaired for each in third) and (older, newer) == ("toy@3", "toy@4")
    assert [each.step for each in first] == [each.step for each in third]


def test_the_first_of_each_kind_is_shown_with_the_command_that_asks_both(history: VersionHistory) -> None:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(history_page(history, width=160))
    text = console.export_text()
    change = history.changes()[0][2][0]
    assert f"toy@1 to toy@2: {len(history.changes()[0][2])} sites changed" in text
    assert "toy@2 to toy@3: no site changed" in text
    assert (
        f"first repaired: leaf_call on x86_64 by clang-asm, {change.where}: {change.before.value}, then exact" in text
    )
    assert f"testbed run leaf_call -a x86_64 -r clang-asm --at @{change.step} -u toy@1 -u toy@2" in text
    assert f"first broken: leaf_call on x86_64 by clang-asm, {change.where}: exact, then {change.before.value}" in text
    assert "1 unit left out: " in text


def test_a_history_goes_with_no_other_form(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["testbed", "score", "--versions", "gdb", "--json"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2 and "--json does not go with --versions" in capsys.readouterr().err
