"""Runs in pieces: they are counted and shown as whole ones are."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.files import save_run
from testbed.runs.run import run_program
from tests.cli.command import Testbed, tells


def summary(out: str) -> list[list[str]]:
    """The lines of the table of strategies, as words."""
    return [line.split() for line in out.splitlines() if line.rstrip().endswith("%")]


def test_a_run_in_pieces_counts_what_the_whole_run_counts(testbed: Testbed, tmp_path: Path) -> None:
    whole = testbed("run", "recursion", "--arch", "arm64", "-u", "*fp*", "-u", "eh*")
    pieces = testbed("run", "recursion", "--arch", "arm64", "-u", "*fp*", "-u", "eh*", "--chunk", "50")
    assert pieces.status == whole.status == 0 and "looked at in" in pieces.out
    assert summary(pieces.out) == summary(whole.out) != []
    tells(
        testbed,
        0,
        ("run", "recursion", "--arch", "arm64", "--chunk", "50", "-o", str(tmp_path / "pieces.trace")),
        out=["in pieces, exit"],
    )
    for more in ((), ("--chunk", "50")):
        again = testbed("run", "--trace", str(tmp_path / "pieces.trace"), "-u", "*fp*", "-u", "eh*", *more)
        assert again.status == 0 and summary(again.out) == summary(whole.out)
    slow = testbed("run", "leaf_call", "--arch", "arm64", "--chunk", "8")
    assert "lr_leaf" in slow.err and "lr_leaf" not in slow.out


def test_one_site_of_a_run_in_pieces_is_shown_as_of_the_whole(testbed: Testbed) -> None:
    for location in ("@17", "leaf+0x4", "middle#1"):
        said = [
            testbed("run", "leaf_call", "--arch", "arm64", "--at", location, *more) for more in ((), ("--chunk", "8"))
        ]
        assert said[0].status == said[1].status == 0
        assert said[0].out == said[1].out


def test_a_long_run_is_taken_in_pieces_by_itself(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr("testbed.cli.run.WHOLE", 100)
    said = tells(testbed, 0, ("run", "recursion", "--arch", "arm64", "-u", "eh_frame"), out=["in 1 piece;"])
    tells(
        testbed, 0, ("run", "recursion", "--arch", "arm64", "-o", str(tmp_path / "long.trace")), out=["in pieces, exit"]
    )
    assert testbed("run", "--trace", str(tmp_path / "long.trace"), "-u", "eh_frame").out == said.out
    tells(testbed, 2, ("run", "recursion", "--arch", "arm64", "--json"), err=["--json shows every step"])
    whole = testbed("run", "leaf_call", "--arch", "arm64", "-u", "eh_frame")
    assert whole.status == 0 and "looked at in" not in whole.out
    signals = testbed("run", "signal", "--arch", "x86_64", "-u", "eh_frame")
    assert signals.status == 0 and "looked at in" not in signals.out
    tells(testbed, 2, ("run", "recursion", "--arch", "arm64", "--budget", "150"), err=["did not exit within 150 steps"])


LONG = """// summary: a loop
// exit: 0
volatile unsigned sum;
int main(void) { for (unsigned i = 0; i < %d; i++) sum += i; return 0; }
"""
# The most that this program held: what getrusage says is at least what its parent held, whose copy it was at first.
PEAK = """
import re
from testbed.cli import main
try:
    main()
except SystemExit as exit:
    assert not exit.code
print("MB", int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.parametrize("what", ["judged", "recorded"])
def test_nothing_holds_a_long_run_whole_not_even_to_find_out_that_it_is_long(what: str, tmp_path: Path) -> None:
    """The peak of four times as many steps is not larger. Two million steps, held whole, are some 400 MB."""
    peaks = []
    for rounds in (600_000, 2_400_000):
        source = tmp_path / f"rounds{rounds}.c"
        source.write_text(LONG % rounds)
        given = ["-u", "eh_frame"] if what == "judged" else ["-o", str(tmp_path / "file.trace")]
        start = ["run", str(source), "--arch", "x86_64", "-r", "clang-O2", "--budget", "1000000000", *given]
        said = subprocess.run([sys.executable, "-c", PEAK, *start], capture_output=True, text=True, check=True).stdout
        assert "pieces" in said
        peaks.append(int(said.split()[-1]))
    assert peaks[1] < peaks[0] + 40 and peaks[0] < 400, peaks


def test_a_run_that_ends_within_what_is_held_is_whole_whatever_the_budget(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:

    usual = testbed("run", "leaf_call", "--arch", "arm64", "-u", "eh_frame")
    for whole, in_pieces in ((24, True), (25, False)):  # it has 25 steps
        monkeypatch.setattr("testbed.cli.run.WHOLE", whole)
        said = testbed("run", "leaf_call", "--arch", "arm64", "-u", "eh_frame", "--budget", "3000000")
        assert said.status == 0 and ("looked at in" in said.out) == in_pieces
        assert summary(said.out) == summary(usual.out)


def test_a_run_in_which_signals_arrive_is_not_cut(testbed: Testbed, tmp_path: Path) -> None:
    for command in (("run", "-u", "eh_frame"), ("run", "-o", str(tmp_path / "file.trace"))):
        tells(
            testbed,
            2,
            (command[0], "signal", "--arch", "x86_64", "--chunk", "50", *command[1:]),
            err=["signals arrive in it"],
        )
    assert not (tmp_path / "file.trace").exists()


# ``testbed run -o FILE.trace``, and ``testbed run`` on what it wrote.


def test_a_recorded_file_is_judged_as_the_run_itself(testbed: Testbed, tmp_path: Path) -> None:
    file = tmp_path / "leaf.trace"
    recorded = tells(testbed, 0, ("run", "leaf_call", "--arch", "arm64", "-o", str(file)), out=["exit 42"])
    assert f"{file.stat().st_size:,} bytes" in recorded.out
    for options in ([], ["--json"], ["--at", "leaf"], ["--differences", "-u", "fp_*"]):
        fresh, kept = (
            testbed("run", "leaf_call", "--arch", "arm64", *options),
            testbed("run", "--trace", str(file), *options),
        )
        assert fresh.out and kept == fresh, options


def test_a_trace_that_is_where_no_memory_is_is_told_so(testbed: Testbed, tmp_path: Path) -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "clang-asm")
    registers, step = run.trace.registers.copy(), len(run) // 2
    registers[step, run.trace.arch.index[run.trace.arch.pc]] = 0xDEAD_0000
    file = tmp_path / "forged.trace"
    save_run(replace(run, trace=replace(run.trace, registers=registers)), file)
    for options in ([], ["--json"], ["--differences"], ["--at", f"@{step}"], ["-o", str(tmp_path / "page.html")]):
        tells(testbed, 2, ("run", "--trace", str(file), *options), err=[f"no memory at pc 0xdead0000 (step @{step})"])


def test_a_run_that_ended_early_is_recorded_and_says_so(testbed: Testbed, tmp_path: Path) -> None:
    file = tmp_path / "early.trace"
    tells(
        testbed,
        0,
        ("run", "leaf_call", "--arch", "arm64", "--budget", "5", "-o", str(file)),
        err=["did not exit within 5 steps"],
    )
    tells(testbed, 2, ("run", "--trace", str(file)), err=["did not exit within 5 steps"])
