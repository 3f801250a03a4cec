"""The referee of stack unwinders: the names that notebooks use.

import testbed
from unwinders import UNWINDERS

run = testbed.run("leaf_call", arch="arm64")       # a Run: built, recorded, watched
at = run.at("leaf+0x4")                            # a Snapshot; also run[17]
run.truth(at)                                      # the true CallStack
said = UNWINDERS["fp_chain"].unwind(at)            # a Backtrace
testbed.judge(run, at, said)                       # a Verdict
testbed.names(run, at, said)                       # a NamedBacktrace: lines, inlined and tail-called functions
"""

from __future__ import annotations

from testbed.arch import ARCHES, arch_named
from testbed.catalogue import nearest
from testbed.errors import TestbedError, UnwindError, UsageError
from testbed.judge_names import true_frames
from testbed.program import Program, program_from_text
from testbed.run import Run, judge, run_program
from testbed.symbolize import NamedBacktrace, symbolize
from testbed.trace import Snapshot
from testbed.unwinder import Backtrace, Frame, FrameKind, Limit, Unwinder

__all__ = [
    "ARCHES",
    "Backtrace",
    "Frame",
    "FrameKind",
    "Limit",
    "NamedBacktrace",
    "Program",
    "Run",
    "Snapshot",
    "TestbedError",
    "UnwindError",
    "Unwinder",
    "arch_named",
    "assemble",
    "judge",
    "names",
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


def names(of: Run, at: Snapshot | int, said: Backtrace | None = None) -> NamedBacktrace:
    """The calls of the source at a snapshot (or step) of a run: of a strategy's backtrace, or of the true frames."""
    step = at if isinstance(at, int) else at.step
    if said is None and step is None:
        raise UsageError("this snapshot did not come from a run: it has no true frames; give a backtrace")
    return symbolize(of.trace.images, said if said is not None else true_frames(of, step or 0))
