"""What somebody meets who has read only the README: help, narrow terminals, messages that say what to do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from testbed.cli import COMMANDS, MOVED
from testbed.report.schemas import schema
from tests.cli.command import Testbed, tells

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_help_tells_every_command_in_whole_sentences(
    testbed: Testbed, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = " ".join(testbed("--help").out.split())
    assert [name for name, sentence in COMMANDS.items() if f"{name} {sentence}" not in said] == []


def test_the_map_of_commands_is_true_and_old_names_say_what_replaces_them(testbed: Testbed) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("takes the place of |\n")[2]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", text.partition("\n\n")[0], re.M)
    assert sorted(name for name, _ in rows) == sorted(COMMANDS) and len(COMMANDS) <= 14
    before = {name for _, names in rows for name in re.findall(r"`(\w+)`", names)} - {*COMMANDS}
    assert before | {"completion"} == {*MOVED}
    assert all(words.split()[1] in COMMANDS for name, words in MOVED.items() if name != "completion")
    for name, words in MOVED.items():
        said = tells(testbed, 2, (name, "leaf_call", "--at", "leaf"))
        assert said.err == f"error: there is no `testbed {name}` any more; in its place: {words}\n"


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
    said = tells(testbed, 2, ("run", "leaf_call", "-u", "no_such_module_here:NAME"))
    assert said.err == (
        "error: -u no_such_module_here:NAME: no_such_module_here cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module_here'\n"
    )
    (tmp_path / "broken_of_mine.py").write_text("x = 1\nraise KeyError(x)\n")
    assert f"{tmp_path}/broken_of_mine.py:2" in testbed("run", "leaf_call", "-u", "broken_of_mine:NAME").err


def test_a_folder_of_vectors_that_is_a_pipe_is_told(testbed: Testbed, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    said = testbed("export", "--vectors", str(tmp_path / "pipe"))
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


# Ctrl-C ends a command wherever it arrives, 130 and one word; streams that are closed, or know few signs.

_COMMAND = """
import signal, sys, time, weakref
import click
from testbed import cli

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it


class Something:
    pass


def in_finalizer():
    thing = Something()
    weakref.finalize(thing, signal.raise_signal, signal.SIGINT)
    del thing
    time.sleep(20)


def in_callback():
    import ctypes

    kind = ctypes.CFUNCTYPE(None)
    kind(lambda: signal.raise_signal(signal.SIGINT))()
    time.sleep(20)


def in_compiled_code():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as interrupt:
        raise SystemError("returned a result with an exception set") from interrupt


def somewhere_else():
    raise SystemError("another one")


cli.cli.main = lambda **_: globals()[sys.argv[1]]()
cli.main()
"""


def _done(*command: str, **how: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, text=True, timeout=60, env=environment, stderr=subprocess.PIPE, **how)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("where", ["in_finalizer", "in_callback", "in_compiled_code"])
def test_an_interrupt_is_never_lost(where: str) -> None:
    done = _done(sys.executable, "-c", _COMMAND, where)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_an_error_that_no_interrupt_caused_is_shown() -> None:
    done = _done(sys.executable, "-c", _COMMAND, "somewhere_else")
    assert done.returncode == 2, "1 says what was found"
    assert "SystemError: another one" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
@pytest.mark.parametrize("command", ["run leaf_call --json", "run leaf_call", "list assumptions --json", "--help"])
def test_a_closed_stream_is_no_mistake(closed: str, command: str) -> None:
    done = _done(
        "sh",
        "-c",
        f'"$0" -c "from testbed.cli import main; main()" {command} {closed}',
        sys.executable,
        stdout=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_wrong_is_told_by_the_status_where_nobody_can_read_it() -> None:
    done = _done("sh", "-c", '"$0" -c "from testbed.cli import main; main()" run leaf_cal >&- 2>&-', sys.executable)
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_lines_and_arrows_gets_similar_signs(encoding: str) -> None:
    command = [sys.executable, "-m", "testbed.cli", "run", "leaf_call", "--arch", "arm64"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    plain = subprocess.run(command, capture_output=True, check=True, env={**environment, "PYTHONIOENCODING": "utf-8"})
    said = subprocess.run(command, capture_output=True, check=True, env={**environment, "PYTHONIOENCODING": encoding})
    lines, similar = plain.stdout.decode().splitlines(), said.stdout.decode(encoding).splitlines()
    assert "?" not in said.stdout.decode(encoding) and said.stdout.decode(encoding).isascii() == (encoding == "ascii")
    marks = [line for line in lines if line.startswith("  11 ")]
    assert marks and marks == [line for line in similar if line.startswith("  11 ")]
    assert [len(line) for line in lines[:30]] == [len(line) for line in similar[:30]]


def test_lines_in_a_pipe_end_where_their_text_ends() -> None:
    for words in ("run leaf_call", "list assumptions -u fp_chain", "run leaf_call --at leaf --machine"):
        said = subprocess.run(
            [sys.executable, "-m", "testbed.cli", *words.split()],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert len(said.stdout) > 500 and not [line for line in said.stdout.splitlines() if line != line.rstrip()]
