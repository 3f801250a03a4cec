"""Ctrl-C ends a command wherever it arrives, 130 and one word; streams that are closed, or know few signs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
    for words in ("run leaf_call", "list assumptions -u fp_chain", "show leaf_call --at leaf"):
        said = subprocess.run(
            [sys.executable, "-m", "testbed.cli", *words.split()],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert len(said.stdout) > 500 and not [line for line in said.stdout.splitlines() if line != line.rstrip()]
