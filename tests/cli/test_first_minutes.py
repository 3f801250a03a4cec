"""What somebody meets who has read only the README: help, narrow terminals, messages that say what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from testbed.cli import COMMANDS
from testbed.report.schemas import schema
from tests.cli.command import Testbed

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_help_tells_every_command_in_whole_sentences(
    testbed: Testbed, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = " ".join(testbed("--help").out.split())
    assert [name for name, sentence in COMMANDS.items() if f"{name} {sentence}" not in said] == []


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("60", 60), ("no number", 100), ("0", 100)])
def test_columns_are_honoured_where_there_is_no_terminal(
    testbed: Testbed, columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = testbed("list", "programs").out.splitlines()
    longest = max(len(line) for line in lines if " " in line.strip())  # a name alone may be longer than a line
    assert width - 8 < longest <= width


def test_what_is_told_of_a_module_of_theirs_names_no_file_of_ours(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = testbed("run", "leaf_call", "-u", "no_such_module_here:NAME")
    assert said.status == 2
    assert said.err == (
        "error: -u no_such_module_here:NAME: no_such_module_here cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module_here'\n"
    )
    (tmp_path / "broken_of_mine.py").write_text("x = 1\nraise KeyError(x)\n")
    assert f"{tmp_path}/broken_of_mine.py:2" in testbed("run", "leaf_call", "-u", "broken_of_mine:NAME").err


def test_a_folder_of_vectors_that_is_a_pipe_is_told(testbed: Testbed, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    said = testbed("vectors", str(tmp_path / "pipe"))
    assert (said.status, said.err) == (2, f"error: {tmp_path / 'pipe'} exists, and is no folder: name a new one\n")


def test_a_score_says_which_schema_it_has(testbed: Testbed) -> None:
    data = json.loads(testbed("score", "--json", "-a", "arm64").out)
    assert data["schema"] == 2
    jsonschema.validate(data, schema("score"))


@pytest.mark.parametrize("script", ["docs/random_flags.py", "docs/heat_map.py", "docs/regenerate.py"])
def test_scripts_of_the_documents_print_help_and_write_nothing(script: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "docs").glob("*.*")}
    done = subprocess.run([sys.executable, script, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and script.rpartition("/")[2] in done.stdout, done.stderr
    assert {path: path.stat().st_mtime_ns for path in (ROOT / "docs").glob("*.*")} == before
