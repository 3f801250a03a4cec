"""``testbed score``: cards of strategies and of programs of the user's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

from testbed.campaign.results import Unit
from testbed.campaign.score_card import known_scores
from tests.cli.command import Testbed, tells

ROOT = Path(__file__).parents[2]


def test_a_card_is_printed_and_written(testbed: Testbed, tmp_path: Path) -> None:
    page, picture = tmp_path / "card.html", tmp_path / "card.svg"
    tells(
        testbed,
        0,
        ("score", "-u", "fp_chain", "-a", "x86_64", "-j", "1", "-o", str(page), "-o", str(picture)),
        out=["> fp_chain", "testbed run leaf_call -a x86_64 -r keystone --at @"],
    )
    assert "fp_chain" in page.read_text(encoding="utf-8")
    assert "% lies" in ElementTree.parse(picture).getroot().attrib["aria-label"]


def test_a_program_of_the_users_own_is_scored_beside_the_known(testbed: Testbed) -> None:
    command = f"{sys.executable} {ROOT / 'testbed/protocol/examples/python/my_unwinder.py'}"
    said = tells(testbed, 0, ("score", "--unwinder-cmd", command, "-a", "x86_64", "-j", "1", "--json"))
    card = json.loads(said.out)
    mine = card["unwinders"][0]
    board = {placed["name"]: placed for placed in card["board"]["x86_64"]}
    assert set(board) >= {"fp_chain", "eh_frame", "prologue_analysis", "stack_scan", "gdb", "libunwind", "libdw"}
    assert "compact_unwind" not in board  # nothing of the sample on x86_64 is Mach-O: it says nothing
    assert board[mine["name"]]["exact"] == mine["overall"]["exact"] > 0
    assert all(trap.get("command", "--unwinder-cmd").count("--unwinder-cmd") == 1 for trap in mine["traps"])
    assert mine["overall"]["sites"] == board["eh_frame"]["sites"]


def test_without_a_name_those_that_are_known_are_ranked(testbed: Testbed) -> None:
    said = tells(testbed, 0, ("score", "-a", "arm64"))
    assert all(name in said.out for name in ("eh_frame", "fp_chain", "libdw", "gdb"))
    assert ">" not in said.out.replace("->", "")


def test_the_scoreboard_is_what_the_command_writes(testbed: Testbed, tmp_path: Path) -> None:
    tells(testbed, 0, ("score", "-o", str(tmp_path / "board.md")))
    text = (ROOT / "docs" / "results" / "scoreboard.md").read_text(encoding="utf-8")
    assert (tmp_path / "board.md").read_text(encoding="utf-8").strip() in text, "python docs/regenerate.py --score"


def test_known_scores_are_counted_anew(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    tells(testbed, 0, ("score", "-u", "lr_leaf", "-a", "arm64", "-j", "1", "--write-known", str(path)))
    fresh, kept = known_scores(path), known_scores()
    unit = Unit("leaf_call", "arm64", "keystone")
    assert fresh.counts[unit] == {"lr_leaf": kept.counts[unit]["lr_leaf"]}
    assert set(fresh.known) == {"lr_leaf"}
