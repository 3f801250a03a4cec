"""``testbed show --step`` in a pseudo-terminal: keys move, q quits."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import pytest

import testbed
from testbed.report.stepper_moves import Move, moved
from unwinders import UNWINDERS

ROOT = Path(__file__).parents[2]
COMMAND = ["-m", "testbed.cli", "show", "leaf_call", "--arch", "arm64", "-u", "fp_chain", "--step"]


def read_until(terminal: int, pattern: bytes) -> bytes:
    out, end = b"", time.monotonic() + 60
    while not re.search(pattern, out):
        assert time.monotonic() < end, out.decode(errors="replace")[-2000:]
        if select.select([terminal], [], [], 0.2)[0]:
            out += os.read(terminal, 65536)
    return out


@pytest.mark.parametrize("quit_key", [b"q", b"\x03", b"\x04"])
def test_keys_move_and_quit(quit_key: bytes) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, *COMMAND])
    shown = rb"step %d of 0 to 24[\s\S]*q quit"
    read_until(terminal, shown % 0)
    for key, step in ((b"n", 1), (b"c", 3), (b"\x1b[C", 4), (b"b", 3), (b"$", 24), (b"0", 0), (b"d", 3)):
        os.write(terminal, key)
        read_until(terminal, shown % step)
    os.write(terminal, quit_key)
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # the other end is closed
        pass
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(terminal)


def test_moves_lead_to_calls_out_and_to_differences() -> None:
    run = testbed.run("leaf_call", arch="arm64")
    chain, exact = [UNWINDERS["fp_chain"]], [UNWINDERS["eh_frame"]]
    assert moved(run, 0, Move.NEXT_CALL, chain) == run.step_at("main")
    inside = run.step_at("leaf+0x8")
    assert moved(run, inside, Move.OUT, chain) == run.step_at("middle+0x10")
    assert moved(run, 0, Move.NEXT_DIFFERENCE, chain) == run.step_at("main")
    assert moved(run, run.step_at("main"), Move.NEXT_DIFFERENCE, chain) == run.step_at("middle")  # not main+0x4
    assert moved(run, 0, Move.NEXT_DIFFERENCE, exact) == 0
    assert moved(run, 0, Move.OUT, chain) == 0
    assert moved(run, len(run) - 1, Move.NEXT, chain) == len(run) - 1
