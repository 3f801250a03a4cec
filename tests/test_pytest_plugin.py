"""Cells as tests: their ids, and what a failed one says."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.cli.planned_cells import plan
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UsageError
from unwinders import UNWINDERS

ROOT = Path(__file__).parents[1]
SOURCE = """// summary: a function that I call
// exit: 1

__attribute__((noinline)) static int called(void) { return 1; }

int main(void) {
    return called();
}
"""
TESTS = """
import pytest
from testbed import Backtrace, Frame, FrameKind, Unwinder, UnwindError

def beginning(at):
    return Backtrace((Frame(FrameKind.INTERRUPTED, at.pc, at.registers),), UnwindError("only a beginning"))

HONEST = Unwinder(name="honest", summary="", unwind=beginning)

def claims(at):
    return Backtrace((Frame(FrameKind.INTERRUPTED, at.pc, at.registers),), None)

@pytest.mark.testbed_cells(HONEST, claims, "sframe", folder="mine", arch=["x86_64"], recipe=["clang-O0"])
def test_mine(testbed_cell):
    testbed_cell.check()

@pytest.mark.testbed_cells(HONEST, programs="leaf_call", arch="arm32", recipe="keystone*")
def test_corpus(testbed_cell):
    assert testbed_cell.judged().lying == 0
"""


def liar(at: Snapshot) -> Backtrace:
    return Backtrace((Frame(FrameKind.INTERRUPTED, at.pc, at.registers),), None)


LIAR = Unwinder(name="liar", summary="claims that every interrupted function is the root", unwind=liar)


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    words = [sys.executable, "-m", "pytest", "-p", "testbed.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_one_test_for_each_cell_and_a_failure_that_tells(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "two.c").write_text(SOURCE)
    (tmp_path / "test_it.py").write_text(TESTS)
    done = run_pytest(tmp_path, "-v", "-rs", "--strict-markers")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_it.py::test_mine[two-x86_64-clang-O0-honest] PASSED" in done.stdout
    assert "test_it.py::test_mine[two-x86_64-clang-O0-claims] FAILED" in done.stdout
    assert "test_it.py::test_mine[two-x86_64-clang-O0-sframe] SKIPPED" in done.stdout
    assert "sframe does not apply: two-x86_64-clang-O0 has no .sframe" in done.stdout
    assert "test_it.py::test_corpus[leaf_call-arm32-keystone-honest] PASSED" in done.stdout
    assert "test_it.py::test_corpus[leaf_call-arm32-keystone-thumb-honest] PASSED" in done.stdout
    told = done.stdout.partition("FAILURES")[2].splitlines()[2:5]
    assert told[0].startswith(
        "at main, claims says main and claims the root, where the stack is main < _start: ended early"
    )
    assert told[1].startswith("testbed run two --arch x86_64 --recipe clang-O0 --programs ")
    assert "-u test_it:claims --at @" in told[1]
    assert told[2] == f"{tmp_path / 'mine' / 'two.c'}:6: main"


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("", "testbed_cell needs @pytest.mark.testbed_cells(YOUR_UNWINDER, programs=...)"),
        ("@pytest.mark.testbed_cells('eh_fram')\n", "no unwinder matches 'eh_fram'; did you mean eh_frame"),
        ("@pytest.mark.testbed_cells('eh_frame', recipes='*')\n", "unexpected keyword argument 'recipes'"),
        ("@pytest.mark.testbed_cells(command='./none')\n", "--unwinder-cmd ./none does not start: No such file"),
    ],
)
def test_a_mistake_in_the_marker_is_told_when_tests_are_collected(tmp_path: Path, marker: str, message: str) -> None:
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n{marker}def test_it(testbed_cell):\n    testbed_cell.check()\n"
    )
    done = run_pytest(tmp_path, "-q")
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_the_command_finds_a_value_by_its_module() -> None:
    (cell,) = plan(LIAR, programs="leaf_call", arch="arm64", recipe="keystone")
    assert cell.command(3) == (f"testbed run leaf_call --arch arm64 --recipe keystone -u {__name__}:LIAR --at @3")
    judged = cell.judged()
    assert judged is not None
    sentence, _, place = cell.failure(judged).splitlines()
    assert "liar says main and claims the root, where the stack is main < _start" in sentence
    path, line, function = place.rsplit(":", 2)
    assert Path(path).read_text().splitlines()[int(line) - 1].startswith("main:")
    assert function == " main"
    (named,) = plan("fp_chain", programs="leaf_call", arch="arm64", recipe="keystone")
    assert named.command(0).endswith("-u fp_chain --at @0")
    (hidden,) = plan(replace(LIAR), programs="leaf_call", arch="arm64", recipe="keystone")
    assert hidden.command(0).endswith("-u liar --at @0")


def test_only_cells_that_can_be() -> None:
    only = replace(LIAR, arches=frozenset({"arm64"}))
    assert {cell.unit.arch for cell in plan(only, programs="leaf_call")} == {"arm64"}
    assert all(
        cell.unwinder.assumption == UNWINDERS["fp_chain"].assumption for cell in plan("fp_chain", programs="leaf_call")
    )
    with pytest.raises(UsageError, match="no unit matches"):
        plan(LIAR, programs="leaf_call", arch="x86_64", recipe="keystone-thumb")
    with pytest.raises(UsageError, match="no unwinder"):
        plan(programs="leaf_call")
