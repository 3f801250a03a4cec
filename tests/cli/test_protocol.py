"""`testbed protocol`, and programs as unwinders on the command line."""

import os
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.cli.command import Step, Testbed, session, tells
from tests.words.alive import comes_true

HOSTILE = f"{shlex.quote(sys.executable)} -S {Path(__file__).parents[1] / 'protocol' / 'hostile.py'}"


def hostile(mode: str) -> str:
    return f"{HOSTILE} {shlex.quote(mode)}"


@pytest.fixture
def python_example(testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The Python example, written by the command, in the folder where the test is."""
    tells(
        testbed,
        0,
        ("protocol", "--example", "python", str(tmp_path / "mine")),
        out=['testbed run leaf_call --unwinder-cmd "python3 my_unwinder.py"'],
    )
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        "my_unwinder.py",
        "testbed_host.py",
        "protocol.md",
        "protocol.schema.json",
    }
    monkeypatch.chdir(tmp_path / "mine")
    return f"{shlex.quote(sys.executable)} my_unwinder.py"


def test_a_run_and_a_dump_show_a_program_alone_or_beside_unwinders(testbed: Testbed, python_example: str) -> None:
    name, asked = "frame_pointers_in_python", '--unwinder-cmd "{mine}"'
    session(
        testbed,
        [
            # Frame pointers lie in prologues: exact, honest stops, lies.
            Step(
                f"run leaf_call --arch x86_64 {asked}",
                1,
                out=[f"{name} 16 0 9 64.0 %", f"the stack is main < _start; {name} says main and"],
                lacks=["eh_frame"],
            ),
            Step(f"run leaf_call -a x86_64 -u eh_frame {asked} {asked}", 1, out=[f"{name}_2", "eh_frame"]),
            Step(f"run leaf_call -a arm32 {asked}", 1, err=[f"{name} left out: it does not exist for arm32"]),
            Step(f"run leaf_call -a x86_64 --at leaf+0x4 {asked}", out=[name]),
            Step("export leaf_call -a x86_64 --at leaf+0x4 -o core"),
            Step(f"backtrace core --sysroot / {asked}", out=[name, "in middle ()"], lacks=["eh_frame"]),
            # Honest stops are no failure, lies and crashes are.
            Step('run leaf_call -a x86_64 --unwinder-cmd "{right}"', out=["I know nothing"]),
            Step('run leaf_call -a x86_64 --unwinder-cmd "{dies}"', 1, out=["assertion failed: row != NULL"]),
        ],
        mine=python_example,
        right=hostile("right"),
        dies=hostile("dies"),
    )


def test_a_matrix_asks_a_program_in_each_worker_and_keeps_nothing(testbed: Testbed, python_example: str) -> None:
    chosen = ("-p", "leaf_*", "-r", "keystone", "-a", "x86_64", "-a", "arm64", "-j", "2")
    first = testbed("matrix", *chosen, "-u", "fp_chain", "--unwinder-cmd", python_example)
    again = testbed("matrix", *chosen, "-u", "fp_chain", "--unwinder-cmd", python_example)
    assert first.status == 1
    assert first.out == again.out  # and no unit is "unchanged since the last time"
    rows = [line.split() for line in first.out.splitlines() if line.startswith(("fp_chain ", "frame_pointers_in_py"))]
    counts = {(row[0], row[1]): row[2:4] for row in rows[:4]}
    assert counts["fp_chain", "x86_64"] == counts["frame_pointers_in_python", "x86_64"]
    assert counts["fp_chain", "arm64"] == counts["frame_pointers_in_python", "arm64"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("no end", 'it answered snapshot 1 wrongly: neither "root":true and "stopped"'),
        ("dies", "it was killed by SIGABRT; it printed: assertion failed"),
        ("twice", "answered id 1 when snapshot 2 was asked"),
        ("text id", 'it answered id "1" when snapshot 1 was asked; an id is a number'),
        ("no hello", "greeted, it wrote a line that is no JSON"),
        ("right", "it speaks the protocol"),
        ("forgetful", "asked twice about one snapshot of x86_64, it gave two answers"),
        ("lingers", "it does not end within 0.3 s of the end of its input"),
        ("more", "it wrote what nobody asked for"),
    ],
)
def test_a_check_says_what_is_wrong(testbed: Testbed, monkeypatch: pytest.MonkeyPatch, mode: str, words: str) -> None:
    monkeypatch.setattr("testbed.protocol.conformance.ENDING_SECONDS", 0.3 if mode == "lingers" else 20)
    monkeypatch.setattr("testbed.protocol.conformance.SPEED_SECONDS", 0.05)
    said = tells(testbed, mode != "right", ("protocol", "--check", "--unwinder-cmd", hostile(mode)), out=[words])
    assert ("WRONG" in said.out) == (mode != "right")


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("refuses", ["it refuses sessions of x86_64: no symbols", "it refused every session: no answer was tried"]),
        ("refuses silently", ["it refuses sessions of arm64: no reason given", "it refused every session"]),
        ("refuses one", ["it refuses sessions of x86_64: no reason given", "snapshots per second"]),
        ("name", ["it says hello: host\\x1b[31mile\\n 0, arm64, x86_64\n"]),
        (
            "capitals",
            [
                "note   RBX is no register of x86_64: it is not judged; did you mean rbx",
                'note   a frame has a key "CFA", which nobody reads; did you mean "cfa"?',
                'note   its "frames" has a key "Root", which nobody reads; did you mean "root"?',
            ],
        ),
    ],
)
def test_what_is_legal_is_no_mistake(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, mode: str, words: list[str]
) -> None:
    """Sessions may be refused, and keys are a program's own: what that costs is said, and the status is 0."""
    monkeypatch.setattr("testbed.protocol.conformance.SPEED_SECONDS", 0.05)
    said = tells(testbed, 0, ("protocol", "--check", "--unwinder-cmd", hostile(mode)))
    assert said.out.endswith("it speaks the protocol\n")
    for each in words:
        assert each in said.out
    assert '"line"' not in said.out


def test_an_interrupt_while_waiting_ends_both(tmp_path: Path) -> None:
    """Ctrl-C at a terminal reaches us only; the program, which hangs, goes with us."""
    command = hostile("forks") + f" {tmp_path / 'pid'}"
    words = [sys.executable, "-m", "testbed.cli", "run", "leaf_call", "-a", "x86_64", "--unwinder-cmd", command]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background ignores it
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    comes_true((tmp_path / "pid").exists)
    time.sleep(0.1)
    group = int((tmp_path / "pid").read_text())
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err.strip().splitlines()[-1] == "interrupted"
    assert comes_true(lambda: not _lives(group))


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
