"""``testbed record``, and ``testbed run`` on what it wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.files import save_run
from testbed.runs.run import run_program
from tests.cli.command import Testbed


def test_a_recorded_file_is_judged_as_the_run_itself(testbed: Testbed, tmp_path: Path) -> None:
    file = tmp_path / "leaf.trace"
    recorded = testbed("record", "leaf_call", "--arch", "arm64", "-o", str(file))
    assert recorded.status == 0, recorded.err
    assert f"{file.stat().st_size:,} bytes" in recorded.out and "exit 42" in recorded.out
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
    for options in ([], ["--json"], ["--differences"], ["--at", f"@{step}"], ["--html", str(tmp_path / "page.html")]):
        said = testbed("run", "--trace", str(file), *options)
        assert said.status == 2 and f"no memory at pc 0xdead0000 (step @{step})" in said.err, options


def test_a_run_that_ended_early_is_recorded_and_says_so(testbed: Testbed, tmp_path: Path) -> None:
    file = tmp_path / "early"
    recorded = testbed("record", "leaf_call", "--arch", "arm64", "--budget", "5", "-o", str(file))
    assert recorded.status == 0 and "did not exit within 5 steps" in recorded.err
    judged = testbed("run", "--trace", str(file))
    assert judged.status == 2 and "did not exit within 5 steps" in judged.err
