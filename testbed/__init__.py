"""The referee of stack unwinders: the names that notebooks use::

    import testbed
    from unwinders import UNWINDERS

    run = testbed.run("leaf_call", arch="arm64")       # a Run: built, recorded, watched
    at = run.at("leaf+0x4")                            # a Snapshot; also run[17]
    run.truth(at)                                      # the true CallStack
    said = UNWINDERS["fp_chain"].unwind(at)            # a Backtrace
    testbed.judge(run, at, said)                       # a Verdict
    testbed.names(run, at, said)                       # a NamedBacktrace: lines, inlined and tail-called functions
    testbed.stepper(run, at="leaf")                    # in a notebook: a slider over the steps
    testbed.matrix("leaf_*", arch="arm64")             # a Matrix
    testbed.check("memcpy.S").findings                 # a FileCheck: unwind tables held against what the code does

A name is imported when it is used: the command line passes through here too, whatever it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.words.catalogue import matches, nearest
from testbed.words.errors import TestbedError, UnwindError, UsageError

if TYPE_CHECKING:
    from testbed.arch import ARCHES, arch_named
    from testbed.campaign.cells import Matrix
    from testbed.checks.model import FileCheck
    from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
    from testbed.naming.symbolize import NamedBacktrace
    from testbed.program.model import Program
    from testbed.report.notebook import Stepper
    from testbed.runs.run import Run, judge, judge_all
    from testbed.trace import Snapshot

__all__ = [
    "ARCHES",
    "Backtrace",
    "FileCheck",
    "Frame",
    "FrameKind",
    "Matrix",
    "NamedBacktrace",
    "Program",
    "Run",
    "Snapshot",
    "TestbedError",
    "UnwindError",
    "Unwinder",
    "arch_named",
    "assemble",
    "check",
    "judge",
    "judge_all",
    "matrix",
    "names",
    "run",
    "stepper",
]


_ROOMS = {  # where the names of __all__ are that this file does not define: as above, for those who run
    "testbed.arch": ("ARCHES", "arch_named"),
    "testbed.campaign.cells": ("Matrix",),
    "testbed.checks.model": ("FileCheck",),
    "testbed.contract.unwinder": ("Backtrace", "Frame", "FrameKind", "Unwinder"),
    "testbed.naming.symbolize": ("NamedBacktrace",),
    "testbed.program.model": ("Program",),
    "testbed.runs.run": ("Run", "judge", "judge_all"),
    "testbed.trace": ("Snapshot",),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for module, names in _ROOMS.items():
            if name in names:
                globals()[name] = value = getattr(import_module(module), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def run(program: str | Path | Program, *, arch: str | None = None, recipe: str | None = None, seed: int = 1) -> Run:
    """Build and run a program, and watch its true call stack.

    ``program`` is a name in the catalogue, the path of a source or of an ELF or Mach-O file, or a value. ``arch``
    defaults to the first that the program exists for, ``recipe`` to the first that builds it. Raises UsageError for an
    unknown name, BuildError where the source is wrong.
    """
    from testbed.runs.by_name import named_run
    from testbed.runs.run import run_program

    if isinstance(program, (str, Path)):
        from programs import PROGRAMS  # the catalogue is not the engine's: only this front door knows it

        return named_run(PROGRAMS, str(program), arch, recipe, seed=seed, budget=1_000_000, fresh=False)
    from testbed.arch import arch_named

    return run_program(program, arch_named(arch) if arch else program.arches()[0], recipe, seed=seed)


def assemble(
    arch: str, text: str, *, isa: str | None = None, name: str = "snippet", exit: int | None = None
) -> Program:
    """A program from an assembly string, ready for ``run``: it starts at ``_start`` and makes the exit call itself."""
    from testbed.arch import arch_named
    from testbed.program.model import program_from_text

    return program_from_text(name, arch_named(arch), text, isa=isa, exit=exit)


def check(path: str | Path, **options: Any) -> FileCheck:
    """Call every function of a file, and hold its unwind tables against what each instruction does.

    The file is a source, an object, an archive, a library or an executable. ``options`` are the fields of
    `testbed.checks.options.CheckOptions`. Raises BuildError, ImageError, UsageError.
    """
    from testbed.checks.check_file import check_file
    from testbed.checks.options import CheckOptions
    from testbed.cli.table_readers import READERS

    return check_file(Path(path), CheckOptions(**options), READERS)


def names(of: Run, at: Snapshot | int, said: Backtrace | None = None) -> NamedBacktrace:
    """The calls of the source at a snapshot (or step) of a run: of an unwinder's backtrace, or of the true frames."""
    from testbed.campaign.names import true_frames
    from testbed.naming.symbolize import symbolize

    step = at if isinstance(at, int) else at.step
    if said is None and step is None:
        raise UsageError("this snapshot did not come from a run: it has no true frames; give a backtrace")
    return symbolize(of.trace.images, said if said is not None else true_frames(of, step or 0))


def stepper(run: Run, at: str | int = 0, unwinders: Iterable[Unwinder] | None = None) -> Stepper:
    """For notebooks: one step of a run, shown whole, with a slider over the others.

    ``at`` is a step or a location; ``unwinders`` default to all of the catalogue that apply. Where there are no
    widgets the output is the step alone.
    """
    from testbed.report.notebook import Stepper
    from unwinders import UNWINDERS

    chosen = UNWINDERS.values() if unwinders is None else unwinders
    applicable = [unwinder for unwinder in chosen if unwinder.applies_to(run.built.image)]
    return Stepper(run, applicable, at if isinstance(at, int) else run.step_at(at))


def matrix(
    program: str = "*",
    *,
    arch: str | None = None,
    recipe: str = "*",
    unwinder: str = "*",
    unwinders: Iterable[Unwinder] | None = None,
    programs: Mapping[str, Program] | Iterable[Program] | str | Path | None = None,
    jobs: int = 1,
    everything: bool = False,
) -> Matrix:
    """Judge every unwinder on every unit that the patterns choose, in ``jobs`` processes (1: in this one).

    ``everything``: also the units that the matrix leaves out unless it is asked for all.
    ``unwinders`` are unwinders of your own, instead of those of the catalogue; ``programs`` are yours, as values or as
    the folder that holds their sources, instead of the corpus.
    """
    from testbed.arch import ARCHES, arch_named
    from testbed.build.recipes import RECIPES
    from testbed.campaign.cells import Matrix, units
    from testbed.campaign.matrix import judge_unit, judge_units, native_for, unit_died
    from testbed.cli.corpus import programs_given
    from unwinders import UNWINDERS

    known = programs_given(programs)
    planned = units(
        [known[name] for name in known if matches(name, [program])],
        [arch_named(arch)] if arch else ARCHES.values(),
        [value for name, value in RECIPES.items() if matches(name, [recipe])],
        everything=everything,
    )
    if not planned:
        raise UsageError(f"no unit matches program {program!r}, arch {arch or '*'!r} and recipe {recipe!r}")
    chosen = UNWINDERS.values() if unwinders is None else unwinders
    asked = [each for each in chosen if matches(each.name, [unwinder])]
    if not asked:
        raise UsageError(f"no unwinder matches {unwinder!r}; {nearest(unwinder, UNWINDERS)}")
    work = partial(judge_unit, programs=known, unwinders=asked, natively=native_for(len(planned), jobs))
    results = judge_units(planned, work, jobs=min(jobs, len(planned)), died=unit_died)
    done = {result.unit: result for result in results}
    return Matrix(tuple(done[unit] for unit in planned), len(planned), tuple(each.name for each in asked))


def _in_a_notebook() -> None:
    """Values look well where IPython shows them; nothing is loaded where it does not run."""
    if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()) is not None:
        from testbed.report.notebook import register

        register(shell)


_in_a_notebook()
