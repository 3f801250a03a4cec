"""Strategies and programs that others bring in Python: by module, as entry points, by folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed as package
from testbed.cli.plugins import brought
from testbed.words.errors import ToolCrashed, UsageError
from tests.cli.command import Testbed
from unwinders import UNWINDERS

MODULE = """
from testbed import Backtrace, Frame, FrameKind, UnwindError, Unwinder

def first(at):
    return Backtrace((Frame(FrameKind.INTERRUPTED, at.pc, at.registers),), UnwindError("only a beginning"))

def liar(at):
    return Backtrace((Frame(FrameKind.INTERRUPTED, at.pc, at.registers),), None)

def raises(at):
    return at.register("eax")

def divides(at):
    return at.pc // 0

def returns(at):
    return [at.pc]

MINE = Unwinder(name="mine", summary="the interrupted frame", unwind=first)
TAKEN = Unwinder(name="eh_frame", summary="a name that is taken", unwind=first)
NUMBER = 3
"""
SOURCE = """// summary: three functions of my own
// exit: 3

__attribute__((noinline)) int inner(int x) { return x + 1; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int main(void) { return outer(1); }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module, a broken one, and a folder of programs."""
    (tmp_path / "my_unwinding.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "unfinished.py").write_text("def f(:\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my_program.c").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("my_unwinding", "broken", "unfinished"):
        sys.modules.pop(name, None)


@pytest.fixture
def installed(folder: Path) -> Path:
    """A package that is installed there, with entry points."""
    distribution = folder / "my_package-1.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text(
        "[testbed.unwinders]\ninstalled_one = my_unwinding:MINE\ninstalled_two = broken:MINE\n"
        "fp_chain = my_unwinding:MINE\n"
        "[testbed.programs]\nmy_programs = my_programs:FOLDER\n"
    )
    (folder / "my_programs.py").write_text(f"FOLDER = {str(folder / 'mine')!r}\n")
    sys.path.insert(0, str(folder))
    return folder


@pytest.mark.usefixtures("folder")
def test_a_strategy_is_named_by_its_module(testbed: Testbed) -> None:
    said = testbed("run", "leaf_call", "-a", "arm64", "-u", "my_unwinding:MINE")
    assert said.status == 0
    assert "UnwindError, only a beginning" in said.out
    said = testbed("run", "leaf_call", "-a", "arm64", "-u", "my_unwinding:liar", "-u", "fp_chain")
    assert said.status == 1
    assert "liar says" in " ".join(said.out.split())
    assert "fp_chain" in said.out
    said = testbed("run", "leaf_call", "-a", "arm64", "-u", "my_unwinding:TAKEN", "-u", "eh_frame", "--at", "leaf")
    assert "eh_frame_2" in said.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "leaf_call", "--at", "leaf"), "mine"),
        (("backtrace", "leaf_call", "--at", "leaf"), "#0"),
        (("matrix", "-p", "leaf_call", "-r", "keystone", "-j", "2"), "mine"),
        (("fuzz", "--seeds", "1", "-a", "arm64", "-r", "keystone", "-j", "2"), "35 sites judged, everything explained"),
    ],
)
def test_wherever_a_strategy_is_named(testbed: Testbed, arguments: tuple[str, ...], words: str) -> None:
    said = testbed(*arguments, "-u", "my_unwinding:MINE")
    assert said.status == 0, said
    assert words in said.out + said.err


@pytest.mark.usefixtures("folder")
def test_the_command_of_what_was_found_names_the_module(testbed: Testbed) -> None:
    said = testbed("fuzz", "--seeds", "1", "-a", "arm64", "-r", "keystone", "-j", "1", "-u", "my_unwinding:liar")
    assert said.status == 1
    assert " -u my_unwinding:liar\n" in said.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("my_unwinding:MIEN", "-u my_unwinding:MIEN: my_unwinding has no MIEN; did you mean MINE?"),
        ("my_unwinding.py", "a function in my_unwinding.py is asked for by -u my_unwinding:NAME"),
        ("my_unwinding", "a function in my_unwinding.py is asked for by -u my_unwinding:NAME"),
        ("my_unwinding:NUMBER", "it is int, not an Unwinder or a function Snapshot -> Backtrace"),
        ("nowhere:MINE", "nowhere cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("broken:MINE", "No module named 'nothing_of_this_name'"),
        ("unfinished:MINE", "unfinished cannot be imported: SyntaxError: invalid syntax (unfinished.py, line 1)"),
        ("my unwinding:MINE", "package.module:NAME is expected"),
        (":", "package.module:NAME is expected"),
    ],
)
def test_what_is_no_strategy_is_one_message(testbed: Testbed, spec: str, message: str) -> None:
    said = testbed("run", "leaf_call", "-u", spec)
    assert said.status == 2
    assert said.err.count("\n") == 1
    assert message in said.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("divides", "it raised ZeroDivisionError: integer division or modulo by zero"),
        ("returns", "it returned list, not a Backtrace"),
    ],
)
def test_what_it_raises_is_an_outcome_with_its_place(testbed: Testbed, name: str, message: str) -> None:
    said = testbed("run", "leaf_call", "-a", "arm64", "-u", f"my_unwinding:{name}")
    assert said.status == 1
    text = " ".join(said.out.split())
    assert message in text
    assert ("my_unwinding.py:14)" in text) == (name == "divides")
    # UnknownRegister is a reason to stop, also where it is raised.
    assert testbed("run", "leaf_call", "-a", "arm64", "-u", "my_unwinding:raises").status == 0


def test_a_trace_at_once_that_raises_is_told() -> None:
    def fails(trace: object) -> package.Backtrace:
        raise ValueError("not today")

    unwinder = brought(package.Unwinder(name="x", summary="", unwind=fails, unwind_trace=fails), "-u here:X")  # type: ignore[arg-type]
    run = package.run("leaf_call", arch="arm64")
    assert isinstance(unwinder.unwind(run[3]).stopped, ToolCrashed)
    with pytest.raises(package.TestbedError, match=r"-u here:X: its unwind_trace raised ValueError: not today"):
        package.judge_all(run, unwinder, natively=True)


@pytest.mark.usefixtures("installed")
def test_installed_strategies_are_known_by_name(testbed: Testbed) -> None:
    listed = testbed("list", "unwinders")
    assert "installed_one" in listed.out
    assert "the entry point installed_two (broken:MINE) cannot be loaded" in listed.err
    assert "UnwindError, only a beginning" in testbed("run", "leaf_call", "-a", "arm64", "-u", "installed_one").out
    assert "UnwindError, only a beginning" not in testbed("run", "leaf_call", "-a", "arm64", "-u", "fp_chain").out
    said = testbed("run", "leaf_call", "-u", "installed_two")
    assert said.status == 2
    assert "the entry point installed_two (broken:MINE) cannot be loaded: ModuleNotFoundError" in said.err
    assert testbed("backtrace", "leaf_call", "--at", "leaf", "-u", "installed_one").status == 0


@pytest.mark.usefixtures("installed")
def test_installed_programs_are_known_by_name(testbed: Testbed) -> None:
    assert "my_program" in testbed("list", "programs").out
    assert "100 %" in testbed("run", "my_program", "-a", "arm64", "-u", "eh_frame").out
    said = testbed("matrix", "-p", "my_program", "-a", "arm64", "-u", "eh_frame", "-r", "clang-O0*", "-j", "1")
    assert said.status == 0
    assert "my_program" in said.out


def test_programs_of_a_folder(testbed: Testbed, folder: Path) -> None:
    chosen = ("-a", "arm64", "-u", "eh_frame", "-r", "clang-O0", "-j", "1")
    alone = testbed("matrix", "--programs", "mine", *chosen)
    assert alone.status == 0
    assert "1 unit (" in alone.out
    beside = testbed("matrix", "--programs", "mine", "-p", "my_*", "-p", "recursion", *chosen)
    assert "2 units (" in beside.out
    assert "inner" in testbed("run", "my_program", "--programs", "mine", "-a", "arm64", "-u", "eh_frame").out
    missing = testbed("matrix", "--programs", "elsewhere").err
    assert missing == f"error: --programs: there is no folder {Path.cwd() / 'elsewhere'}\n"
    assert "has no NAME.c, NAME.cc or NAME.ISA.S" in testbed("matrix", "--programs", str(folder.parent)).err
    (folder / "mine" / "recursion.c").write_text(SOURCE)
    said = testbed("matrix", "--programs", "mine")
    assert "mine has recursion, and there is another program of that name: rename it" in said.err
    assert said.status == 2


def test_the_matrix_in_python_takes_programs_and_processes(folder: Path) -> None:
    ours = [UNWINDERS["eh_frame"]]
    matrix = package.matrix(programs=folder / "mine", unwinders=ours, arch="arm64", jobs=2, recipe="clang-O*")
    assert {cell.unit.program for cell in matrix.cells} == {"my_program"}
    assert len(matrix.cells) > 1
    assert matrix.complete and matrix.all_explained
    program = package.assemble("arm64", "_start:\n mov x8, #93\n mov x0, #0\n svc #0\n", exit=0)
    assert package.matrix(programs=[program], unwinders=ours, recipe="keystone").planned == 1
    with pytest.raises(UsageError, match="there is no folder"):
        package.matrix(programs="nowhere")


def test_what_is_unexplained_at_one_site_is_status_1_too(testbed: Testbed, folder: Path) -> None:
    site = ("run", "leaf_call", "--arch", "x86_64", "--at", "middle+0x1")
    assert "UNEXPLAINED" not in testbed(*site, "-u", "eh_frame").out
    said = testbed(*site, "-u", "my_unwinding:liar", "-u", "eh_frame")
    assert "liar: " in said.out and "UNEXPLAINED" in said.out and said.status == 1
