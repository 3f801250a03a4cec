"""A path that reads a clock or draws a random number is the same path each time."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.machine.clock_reads import ClockRead, reads_in
from testbed.micro.calling import Over
from tests.micro.callers import built, called, ready

# A path's length depends on the value: a loop over its low bits.
CLOCKS = {
    "x86_64": "rdtsc\nand $255, %eax\n1: dec %eax\njns 1b\nrdrand %r10\nand $15, %r10d\n2: dec %r10d\njns 2b\nret",
    "arm64": "mrs x1, cntvct_el0\nand x1, x1, #255\n1: subs x1, x1, #1\nb.pl 1b\nmrs x0, cntvct_el0\nret",
}


@pytest.mark.parametrize("arch", CLOCKS)
def test_a_clock_says_the_same_each_time(arch: str) -> None:
    text = f".text\n.globl f\n.type f, %function\nf: .cfi_startproc\n{CLOCKS[arch]}\n.cfi_endproc\n.size f, .-f\n"
    caller = ready(built(text, ".S", arch))
    tapes = [called(caller, "f") for _ in range(8)]
    assert all(tape.over is Over.RETURNED for tape in tapes)
    assert all(np.array_equal(tape.registers, tapes[0].registers) for tape in tapes)
    assert len(tapes[0]) > 12, "the value is not always 0"


def test_such_instructions_are_known_by_their_bytes() -> None:
    code = bytes.fromhex("90 0f31 480fc7f8 410fc7fa 0f01f9 0fc7e8 0fc7c8")
    assert {(first, end): read for first, end, read in reads_in("x86_64", code)} == {
        (1, 3): ClockRead(("rax", "rdx"), 32),
        (3, 7): ClockRead(("rax",), 64),
        (4, 7): ClockRead(("rax",), 32),
        (7, 11): ClockRead(("r10",), 32),
        (8, 11): ClockRead(("rdx",), 32),
        (11, 14): ClockRead(("rax", "rdx"), 32, ("rcx",)),
    }
