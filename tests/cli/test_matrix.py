"""``testbed matrix``: what it prints and writes, in one process or more, interrupted, without a compiler."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from junitparser import JUnitXml

from testbed.campaign.cells import Unit
from testbed.campaign.score_card import known_scores
from tests.cli.command import Testbed, data_of, tells
from tests.words.alive import comes_true


def test_matrix_writes_what_it_prints(testbed: Testbed, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"matrix.{kind}" for kind in ("json", "html", "xml", "svg")}
    options = [part for kind, path in files.items() for part in ("-o", str(path))]
    said = tells(testbed, 0, ("matrix", "-p", "leaf_call", "-p", "tail_call", "-r", "clang-asm*", "-j", "2", *options))
    assert max(map(len, said.out.splitlines())) <= 100
    data = data_of(files["json"].read_text(), "matrix")
    assert data["complete"]
    assert data["totals"]["sites"] == sum(cell["sites"] for cell in data["cells"]) > 0
    assert data["totals"]["unexplained"] == 0
    xml = JUnitXml.fromfile(str(files["xml"]))
    assert sum(suite.tests for suite in xml) == len(data["cells"])
    page = files["html"].read_text()
    assert "leaf_call" in page
    assert "src=" not in page
    assert "href=" not in page  # self-contained
    picture = files["svg"].read_text()
    assert "leaf_call" in picture
    assert "font-face" not in picture  # no web font: the picture needs no network


def test_the_whole_matrix_has_what_the_selection_leaves_out(testbed: Testbed, tmp_path: Path) -> None:
    out = tmp_path / "matrix.json"
    chosen = ("-p", "switch_table", "-a", "x86_64", "-r", "clang-O3", "-r", "clang-O2", "-j", "1", "-o", str(out))
    recipes = []
    for options in ((), ("--all",)):
        tells(testbed, 0, ("matrix", *chosen, *options))
        data = json.loads(out.read_text())
        recipes.append({cell["recipe"] for cell in data["cells"]})
        (tools,) = data["tools"]
        assert tools["recipes"] == sorted(recipes[-1]) and tools["version"].startswith("ziglang 0.")
    assert recipes == [{"clang-O2"}, {"clang-O2", "clang-O3"}]


def test_a_missing_compiler_is_a_skip_that_names_its_package(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    tells(
        testbed,
        0,
        ("matrix", "-p", "recursion", "-a", "arm64", "-r", "gcc-O2", "-r", "clang-O2", "-j", "1"),
        out=["1 skipped", "apt-get install gcc-12-aarch64-linux-gnu"],
    )
    tells(testbed, 0, ("list", "recipes"), out=["gcc-12-arm-linux-gnueabihf (not installed)"])


def test_matrix_in_one_process_or_two_is_the_same(testbed: Testbed, tmp_path: Path) -> None:
    results = []
    for jobs in ("1", "2"):
        out = tmp_path / f"{jobs}.json"
        tells(testbed, 0, ("matrix", "-p", "leaf_*", "-a", "x86_64", "-r", "keystone", "-j", jobs, "-o", str(out)))
        results.append(json.loads(out.read_text()))
    assert results[0] == results[1]
    assert {cell["program"] for cell in results[0]["cells"]} == {"leaf_call", "leaf_no_frame"}
    assert {"fp_chain", "eh_frame"} <= {cell["unwinder"] for cell in results[0]["cells"]}


def test_an_interrupted_matrix_says_what_was_done(tmp_path: Path) -> None:
    """Ctrl-C reaches the command and its workers; what is judged by then is printed, and the status is 130."""
    # A shell's background jobs ignore interrupts, and so does whatever they start.
    heard = "import signal, runpy, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    heard += "sys.argv = ['testbed', *sys.argv[1:]]; runpy.run_module('testbed.cli', run_name='__main__')"
    command = [sys.executable, "-c", heard, "matrix", "-j", "2"]
    environment = {**os.environ, "TESTBED_CACHE": str(tmp_path), "NO_COLOR": "1"}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    # An empty cache: building everything takes far longer than the first units.
    comes_true(lambda: len(list(tmp_path.rglob("*.judged"))) >= 2, 120)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, out + err
    done = re.search(r"(\d+) of (\d+) units", out)
    assert done and 0 < int(done[1]) < int(done[2]), out
    assert "INTERRUPTED" in out
    assert "Traceback" not in err


# ``testbed score``: cards of unwinders and of programs of the user's own.


ROOT = Path(__file__).parents[2]


def test_a_card_is_printed_and_written(testbed: Testbed, tmp_path: Path) -> None:
    page, picture = tmp_path / "card.html", tmp_path / "card.svg"
    tells(
        testbed,
        0,
        ("score", "-u", "fp_chain", "-a", "x86_64", "-j", "1", "-o", str(page), "-o", str(picture)),
        out=["> fp_chain", "See first: ", " -a x86_64 -r keystone --at @"],
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
