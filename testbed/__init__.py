"""The referee of stack unwinders: the names that notebooks use.

import testbed
from unwinders import UNWINDERS

run = testbed.run("leaf_call", arch="arm64")       # a Run: built, recorded, watched
at = run.at("leaf+0x4")                            # a Snapshot; also run[17]
run.truth(at)                                      # the true CallStack
said = UNWINDERS["fp_chain"].unwind(at)            # a Backtrace
testbed.judge(run, at, said)                       # a Verdict
"""

from __future__ import annotations

from testbed.arch import ARCHES, arch_named
from testbed.catalogue import nearest
from testbed.errors import TestbedError, UnwindError, UsageError
from testbed.program import Program, program_from_text
from testbed.run import Run, judge, run_program
from testbed.trace import Snapshot
from testbed.unwinder import Backtrace, Frame, FrameKind, Limit, Unwinder

__all__ = [
    "ARCHES",
    "Backtrace",
    "Frame",
    "FrameKind",
    "Limit",
    "Program",
    "Run",
    "Snapshot",
    "TestbedError",
    "UnwindError",
    "Unwinder",
    "arch_named",
    "assemble",
    "judge",
    "run",
]


def run(program: str | Program, *, arch: str | None = None, recipe: str | None = None, seed: int = 1) -> Run:
    """Build and run a program, by its name in the catalogue or as a value, and watch its true call stack.

    ``arch`` defaults to the first that the program exists for, ``recipe`` to the first that builds it. Raises
    UsageError for an unknown name, BuildError where the source is wrong.
    """
    if isinstance(program, str):
        from programs import PROGRAMS  # the catalogue is not the engine's: only this front door knows it

        if program not in PROGRAMS:
            raise UsageError(f"no program {program!r}; {nearest(program, PROGRAMS)}")
        program = PROGRAMS[program]
    return run_program(program, arch_named(arch) if arch else program.arches()[0], recipe, seed=seed)


def assemble(
    arch: str, text: str, *, isa: str | None = None, name: str = "snippet", exit: int | None = None
) -> Program:
    """A program from an assembly string, ready for ``run``: it starts at ``_start`` and makes the exit call itself."""
    return program_from_text(name, arch_named(arch), text, isa=isa, exit=exit)
