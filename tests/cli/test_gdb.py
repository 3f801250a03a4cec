"""``testbed gdb``: gdb itself moves in a recorded run."""

import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

import pytest

from testbed.runs.run import Run
from tests import corpus
from tests.corpus import tool

ISAS = {
    "x86_64": ("x86_64", "clang-asm"),
    "arm64": ("arm64", "clang-asm"),
    "a32": ("arm32", "clang-asm"),
    "thumb": ("arm32", "clang-asm-thumb"),
}


@cache
def run_of(isa: str) -> Run:
    arch, recipe = ISAS[isa]
    return corpus.ran("leaf_call", arch, recipe)


def gdb(isa: str, location: str, commands: Sequence[str]) -> str:
    tool("gdb-multiarch", "gdb-multiarch")
    arch, recipe = ISAS[isa]
    told = [part for each in commands for part in ("-ex", f"echo <{each}>\\n", "-ex", each)]
    line = [sys.executable, "-m", "testbed.cli", "gdb", "leaf_call", "-a", arch, "-r", recipe, "--at", location]
    done = subprocess.run(
        [*line, "--", "-nx", "-batch", *told], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def after(said: str, command: str, visit: int = 1) -> str:
    """What gdb printed for a command, the first time or a later one."""
    return said.split(f"<{command}>\n")[visit].partition("\n<")[0]


@pytest.mark.parametrize("isa", ISAS)
def test_gdb_steps_both_ways_and_sees_the_stack_and_the_code_of_the_step(isa: str) -> None:
    run = run_of(isa)
    step = run.step_at("leaf")
    move = ("x/i $pc", "p/x $sp", "bt")
    places = (step, step + 1, step, step - 1)
    said = gdb(isa, "leaf", (*move, "stepi", *move, "reverse-stepi", *move, "reverse-stepi", *move, "info line"))
    for visit, at in enumerate(places, 1):
        pc, sp = int(run.trace.pc[at]), int(run.trace.sp[at])
        assert re.search(rf"=> {pc:#x} <.*>:\t\w+", after(said, "x/i $pc", visit))
        assert after(said, "p/x $sp", visit).split()[-1] == f"{sp:#x}"
        frames = re.findall(r"^#\d+ +0x([0-9a-f]+) in (\w+)", after(said, "bt", visit), re.M)
        assert [(int(number, 16), name) for number, name in frames] == [
            (frame.pc, name)
            for frame, name in zip(run.truth(at).frames, run.frame_names(run.truth(at).frames), strict=True)
        ]


@pytest.mark.parametrize("isa", ISAS)
def test_gdb_stops_at_breakpoints_in_recorded_time_and_at_its_ends(isa: str) -> None:
    run = run_of(isa)
    leaf = int(run.trace.pc[run.step_at("leaf")])
    said = gdb(
        isa,
        "@0",
        (
            f"break *{leaf:#x}",
            "continue",
            "p/x $pc",
            "nexti",
            "delete",
            "continue",
            "reverse-continue",
            "p/x $pc",
            "info line",
        ),
    )
    assert f"Breakpoint 1, {leaf:#0{2 + 2 * run.arch.word}x} in leaf" in after(said, "continue")
    assert after(said, "p/x $pc").split()[-1] == f"{leaf:#x}"
    assert "No more reverse-execution history" in after(said, "continue", 2)
    assert "in _start" in after(said, "continue", 2)
    assert "No more reverse-execution history" in after(said, "reverse-continue")
    assert after(said, "p/x $pc", 2).split()[-1] == f"{int(run.trace.pc[0]):#x}"


def test_without_starting_gdb_the_command_to_type_is_printed_and_served() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "testbed.cli", "gdb", "leaf_call", "-a", "arm64", "--serve", "--port", str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            typed = shlex.split(process.stdout.readline())
            assert typed[0] == "gdb-multiarch" and typed[-1] == f"target remote 127.0.0.1:{port}"
            for _ in range(2):  # the next gdb is served too
                with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                    connection.sendall(b"$?#3f")
                    said = b""
                    while len(said) < 6:
                        said += connection.recv(100)
                    assert said.startswith(b"+$S05#")
        finally:
            process.kill()
