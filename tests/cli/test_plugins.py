"""Unwinders and programs that others bring in Python: by module, as entry points, by folder."""

import contextlib
import dataclasses
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import testbed as package
from testbed import Backtrace, Frame, FrameKind, Snapshot, Unwinder
from testbed.cli.plugins import MOST_HANGS, brought, guarded
from testbed.referee import REFEREES
from testbed.words.errors import BrokenAnswer, ToolCrashed, ToolHung, UnwindError, UsageError
from tests.cli.command import Step, Testbed, session, tells
from tests.corpus import referees_unwinder
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


LEAF = "run leaf_call -a arm64 -u"
SITE = "run leaf_call --arch x86_64 --at middle+0x1"
ONE_SEED = "fuzz --seeds 1 -a arm64 -r keystone"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "step",
    [
        Step(f"{LEAF} my_unwinding:MINE", out=["UnwindError, only a beginning"]),
        Step(
            f"{LEAF} my_unwinding:liar -u fp_chain",
            1,
            out=["liar says", "; liar lies at 20, first at main (step 3): frame"],
        ),
        Step(f"{LEAF} my_unwinding:TAKEN -u eh_frame --at leaf", out=["eh_frame_2"]),
        Step("run leaf_call --at leaf --machine -u my_unwinding:MINE", out=["mine"]),
        Step("backtrace leaf_call --at leaf -u my_unwinding:MINE", out=["#0"]),
        Step("matrix -p leaf_call -r keystone -j 2 -u my_unwinding:MINE", out=["mine"]),
        Step(f"{ONE_SEED} -j 2 -u my_unwinding:MINE", out=["35 sites judged, everything explained"]),
        Step(f"{ONE_SEED} -j 1 -u my_unwinding:liar", 1, out=[" -u my_unwinding:liar\n"]),
        Step(f"{SITE} -u eh_frame", lacks=["UNEXPLAINED"]),
        Step(
            f"{SITE} -u my_unwinding:liar -u eh_frame", 1, out=["liar: frame 0 is not the root"], lacks=["UNEXPLAINED"]
        ),
    ],
)
def test_an_unwinder_is_named_by_its_module_wherever_one_is_named(testbed: Testbed, step: Step) -> None:
    session(testbed, [step])


BROKEN_ENTRY = "the entry point installed_two (broken:MINE) cannot be loaded"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "step",
    [
        Step("list unwinders", out=["installed_one"], err=[BROKEN_ENTRY]),
        Step(f"{LEAF} installed_one", out=["UnwindError, only a beginning"]),
        Step(f"{LEAF} fp_chain", lacks=["UnwindError, only a beginning"]),
        Step("run leaf_call -u installed_two", 2, err=[f"{BROKEN_ENTRY}: ModuleNotFoundError"]),
        Step("backtrace leaf_call --at leaf -u installed_one"),
        Step("list programs", out=["my_program"]),
        Step("run my_program -a arm64 -u eh_frame", out=["100 %"]),
        Step("matrix -p my_program -a arm64 -u eh_frame -r 'clang-O0*' -j 1", out=["my_program"]),
    ],
)
def test_what_is_installed_is_known_by_name(testbed: Testbed, step: Step) -> None:
    session(testbed, [step])


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
def test_what_is_no_unwinder_is_one_message(testbed: Testbed, spec: str, message: str) -> None:
    said = tells(testbed, 2, ("run", "leaf_call", "-u", spec))
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
    said = tells(testbed, 1, ("run", "leaf_call", "-a", "arm64", "-u", f"my_unwinding:{name}"))
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


def test_programs_of_a_folder(testbed: Testbed, folder: Path) -> None:
    chosen = ("-a", "arm64", "-u", "eh_frame", "-r", "clang-O0", "-j", "1")
    tells(testbed, 0, ("matrix", "--programs", "mine", *chosen), out=["1 unit ("])
    beside = testbed("matrix", "--programs", "mine", "-p", "my_*", "-p", "recursion", *chosen)
    assert "2 units (" in beside.out
    assert "inner" in testbed("run", "my_program", "--programs", "mine", "-a", "arm64", "-u", "eh_frame").out
    missing = testbed("matrix", "--programs", "elsewhere").err
    assert missing == f"error: --programs: there is no folder {Path.cwd() / 'elsewhere'}\n"
    assert "has no NAME.c, NAME.cc or NAME.ISA.S" in testbed("matrix", "--programs", str(folder.parent)).err
    (folder / "mine" / "recursion.c").write_text(SOURCE)
    tells(
        testbed,
        2,
        ("matrix", "--programs", "mine"),
        err=["mine has recursion, and there is another program of that name: rename it"],
    )


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


# Python functions of others that misbehave: each thing that they do is an outcome, and nobody else sees it.


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return package.run("leaf_call", arch="x86_64").trace.snapshot(3)


def top(at: Snapshot) -> Frame:
    return Frame(FrameKind.INTERRUPTED, at.pc, at.registers)


def caller(pc: Any, registers: Any, **more: Any) -> Callable[[Snapshot], Backtrace]:
    return lambda at: Backtrace((top(at), Frame(FrameKind.CALLER, pc, registers, **more)), None)


def raises(_: Snapshot) -> Backtrace:
    raise KeyError("x" * 10000 + "\x1b[31m")


def leaves(_: Snapshot) -> Backtrace:
    raise SystemExit(0)


BROKEN: dict[str, tuple[Callable[[Snapshot], Any], type[UnwindError], str]] = {
    "raises": (raises, ToolCrashed, "it raised KeyError: 'xxx"),
    "leaves": (leaves, ToolCrashed, "it raised SystemExit: 0 ("),
    "recurses": (lambda at: BROKEN["recurses"][0](at), ToolCrashed, "it raised RecursionError"),
    "says nothing": (lambda at: None, BrokenAnswer, "it returned NoneType, not a Backtrace"),
    "frames are a generator": (
        lambda at: Backtrace((top(at) for _ in "a"), None),  # type: ignore[arg-type]
        BrokenAnswer,
        "the frames that it returned are a generator, not a tuple",
    ),
    "no frames": (lambda at: Backtrace((), None), BrokenAnswer, "it returned 0 frames: from 1 to 4096"),
    "too many": (lambda at: Backtrace((top(at),) * 5000, None), BrokenAnswer, "it returned 5,000 frames"),
    "no frame": (lambda at: Backtrace((at,), None), BrokenAnswer, "frame 0 is Snapshot: a Frame"),  # type: ignore[arg-type]
    "stops with a text": (lambda at: Backtrace((top(at),), "no"), BrokenAnswer, "`stopped` is str"),  # type: ignore[arg-type]
    "pc is a text": (caller("0x10", {}), BrokenAnswer, "pc of frame 1 is str: no number of 64 bits"),
    "pc below zero": (caller(-1, {}), BrokenAnswer, "pc of frame 1 is -1: no number of 64 bits"),
    "cfa too large": (caller(1, {}, cfa=1 << 64), BrokenAnswer, "cfa of frame 1 is 18446744073709551616"),
    "registers are a list": (caller(1, ["rip"]), BrokenAnswer, "registers of frame 1 are list, not a mapping"),
    "a register that is none": (caller(1, {"\x1b[2J": 1}), BrokenAnswer, "which x86_64 has not"),
    "a register is true": (caller(1, {"rbp": True}), BrokenAnswer, "rbp of frame 1 is True: no number"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_no_answer_is_an_outcome(what: str, snapshot: Snapshot) -> None:
    function, kind, told = BROKEN[what]
    said = guarded(function)(snapshot)
    assert type(said.stopped) is kind
    assert told in str(said.stopped)
    assert len(str(said.stopped)) < 600
    assert str(said.stopped).isprintable()
    assert [frame.pc for frame in said.frames] == [snapshot.pc]


def test_what_it_changes_is_a_copy(snapshot: Snapshot) -> None:
    def changes(at: Snapshot) -> Backtrace:
        at.registers["rip"] = 0  # type: ignore[index]
        object.__setattr__(at, "images", ())
        return Backtrace((top(at),), None)

    before = dict(snapshot.registers), snapshot.images
    guarded(changes)(snapshot)
    assert (dict(snapshot.registers), snapshot.images) == before


def test_one_that_never_returns_hangs_and_is_left_alone_after_some_times(snapshot: Snapshot) -> None:
    asked = []

    def loops(at: Snapshot) -> Backtrace:
        asked.append(at)
        while True:
            with suppress(Exception):
                sum(range(1000))

    ask = guarded(loops, seconds=0.02)
    for _ in range(MOST_HANGS):
        said = ask(snapshot)
        assert isinstance(said.stopped, ToolHung)
        # Where it was: in the loop itself, or in what the loop calls.
        where = re.fullmatch(r"it gave no answer within 0\.02 s \((.+):\d+\)", str(said.stopped))
        assert where and where[1] in (__file__, contextlib.__file__)
    assert "it is not asked any more: 3 times" in str(ask(snapshot).stopped)
    assert len(asked) == MOST_HANGS
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_interrupt_stays_the_users(snapshot: Snapshot) -> None:
    def interrupted(_: Snapshot) -> Backtrace:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupted)(snapshot)


# Unwinders and real unwinders, chosen by name.


def test_a_lying_unwinder_makes_the_run_and_the_matrix_fail(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    liar = Unwinder(name="always_root", summary="", unwind=lambda at: Backtrace((top(at),), None))
    monkeypatch.setattr("testbed.cli.unwinders.UNWINDERS", {"always_root": liar})
    said = "always_root is exact at 5 of 25 steps; it lies at 20, first at main (step 3): frame 0 is not the root."
    tells(testbed, 1, ("run", "leaf_call", "--arch", "arm64"), out=[said])
    of = "WRONG leaf_call-arm64-keystone-always_root (20 sites)"
    tells(
        testbed,
        1,
        ("matrix", "-p", "leaf_call", "-a", "arm64", "-j", "1"),
        out=[of, "Frame 0 is not the root.", "; 3 cells fail"],
    )


def test_run_and_backtrace_take_real_unwinders_by_name(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    tells(testbed, 2, ("run", "leaf_call", "--arch", "arm64", "-u", "libdwarf"), err=["no unwinder matches 'libdwarf'"])
    absent = dataclasses.replace(REFEREES["libdw"], find=lambda: None)
    with monkeypatch.context() as patched:
        patched.setattr("testbed.cli.unwinders.REFEREES", {"libdw": absent})
        for command in ("run", "backtrace"):
            tells(
                testbed,
                2,
                (command, "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw"),
                err=[f"libdw needs libdw, which is not installed: {absent.package}"],
            )
        patched.setattr("testbed.cli.unwinders.present", lambda patterns=(): {})
        tells(testbed, 2, ("run", "leaf_call", "-u", "lib*w"), err=["libdw needs libdw, which is not installed"])
        tells(testbed, 2, ("run", "leaf_call", "-u", "libd"), err=["libdw needs libdw, which is not installed"])
    referees_unwinder("libdw", "libdw")
    assert "libdw     exact" in testbed("run", "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw").out
    assert "in middle ()" in testbed("backtrace", "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw").out
