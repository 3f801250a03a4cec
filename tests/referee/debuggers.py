"""What tests of a debugger share: programs on all instruction sets, and a debugger that misbehaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.findings import shown_by
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES, Finding
from testbed.runs.judging import judge
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


def strategy(referee: str, name: str) -> Unwinder:
    """A strategy of a referee; skips the test where it is not installed."""
    if REFEREES[referee].find() is None:
        pytest.skip(f"needs {referee}: {REFEREES[referee].package}")
    return next(unwinder for unwinder in REFEREES[referee].unwinders if unwinder.name == name)


def assert_reproduced(finding: Finding, referee: str) -> None:
    """At the finding's place the strategy is wrong as it says, but where the data say that this version is not."""
    unwinder = strategy(referee, finding.unwinder)
    here = unwinder.tool() if unwinder.tool is not None else finding.tool
    version = here.partition(" ")[2]
    if here != finding.tool and version not in (*finding.seen_in, *finding.not_in):
        pytest.skip(f"nothing is known of {here}; seen with {finding.tool}")
    run = run_of(finding.program, finding.arch, finding.recipe)
    snapshot = run.at(finding.at)
    verdict = judge(run, snapshot, unwinder.unwind(snapshot), unwinder)
    assert shown_by(finding, verdict) == (version not in finding.not_in)


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
