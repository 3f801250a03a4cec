"""What tests of a debugger share: programs on all instruction sets, and a debugger that misbehaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES
from testbed.runs.run import Run, run_program

CELLS = (
    ("leaf_call", "x86_64", "clang-asm"),
    ("leaf_call", "arm64", "clang-asm"),
    ("leaf_call", "arm32", "clang-asm"),
    ("leaf_call", "arm32", "clang-asm-thumb"),
    ("struct_return", "x86_64", "clang-O2"),
    ("struct_return", "arm64", "clang-O2"),
)


@cache
def run_of(program: str, arch: str, recipe: str) -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], recipe)


def installed(referee: str, name: str) -> Unwinder:
    """An unwinder of a referee; skips the test where it is not installed."""
    if REFEREES[referee].find() is None:
        pytest.skip(f"needs {referee}: {REFEREES[referee].package}")
    return next(unwinder for unwinder in REFEREES[referee].unwinders if unwinder.name == name)


def misbehaving(does: str) -> Callable[[int, int], Sequence[str]]:
    """A debugger that opens programs, and at the first snapshot that it is asked for ``does`` something else."""
    tool = f"""
import json, os, sys, time
requests, replies = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
for line in requests:
    request = json.loads(line)
    if "open" not in request:
        {does}
    print(json.dumps({{"frames": [], "stop": ["NO_REASON", ""]}}), file=replies, flush=True)
"""
    return lambda requests, replies: [sys.executable, "-c", tool, str(requests), str(replies)]


def processes() -> set[str]:
    """The numbers of the children of this process."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
        return set(children.read().split())
