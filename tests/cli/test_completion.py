"""What a shell is told when it asks for names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from testbed.cli import cli

ROOT = Path(__file__).parents[2]


def names(*words: str) -> list[str]:
    """What completes the last of some words."""
    found = BashComplete(cli, {}, "testbed", "_TESTBED_COMPLETE").get_completions(list(words[:-1]), words[-1])
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ru",), ["run"]),
        (("run", "leaf_n"), ["leaf_no_frame"]),
        (("run", "leaf_call", "-a", "arm"), ["arm64", "arm32"]),
        (("run", "leaf_call", "-r", "clang-thumb-Os"), ["clang-thumb-Os", "clang-thumb-Os-fp"]),
        (("matrix", "-u", "prologue"), ["prologue_analysis"]),
        (("matrix", "-p", "leaf_n"), ["leaf_no_frame"]),
        (("gdb", "leaf_n"), ["leaf_no_frame"]),
        (("rows", "leaf_call", "-f", "sfr"), ["sframe"]),
        (("matrix", "--known-bugs", "minidump"), ["minidump_stackwalk"]),
        (("list", "prog"), ["programs"]),
        (("run", "leaf_call", "--diff"), ["--differences"]),
    ],
)
def test_names_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    assert names(*words) == expected


def test_a_path_is_completed_where_no_program_is_meant() -> None:
    assert names("run", "./mine") == ["./mine"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="apt-get install bash")
def test_bash_asks_the_command(tmp_path: Path) -> None:
    command = tmp_path / "testbed"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m testbed.cli "$@"\n')
    command.chmod(0o755)
    script = BashComplete(cli, {}, "testbed", "_TESTBED_COMPLETE").source() + (
        'COMP_WORDS=(testbed run leaf_n); COMP_CWORD=2; _testbed_completion testbed; echo "${COMPREPLY[@]}"\n'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["leaf_no_frame"], done.stderr
