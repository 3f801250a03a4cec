"""The cells of a matrix before they are judged: what the tests of `testbed.pytest_plugin` are made of."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed.arch import ARCHES, arch_named
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Cell, Unit, cell_of, run_unit, units
from testbed.cli.corpus import chosen_programs, corpus
from testbed.cli.unwinders import unwinders_named
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.run import Run, judge_all
from testbed.words.catalogue import matching
from testbed.words.errors import ToolchainMissing, UsageError


@dataclass(frozen=True, eq=False)
class PlannedCell:
    """One unwinder on one unit. ``asked`` are the words by which a command asks for the unwinder."""

    unit: Unit
    unwinder: Unwinder
    asked: tuple[str, ...]
    programs: Mapping[str, Program] = field(repr=False)
    folder: Path | None = None

    def __str__(self) -> str:
        return f"{self.unit}-{self.unwinder}"

    def judged(self) -> Cell | None:
        """The cell; None where the file has nothing that the unwinder reads. Raises TestbedError."""
        run = self.run
        if not self.unwinder.applies_to(run.built.image):
            return None
        return cell_of(run, self.unwinder, judge_all(run, self.unwinder))

    def check(self) -> None:
        """Fail the test where a site is unexplained: a lie, a crash, no answer; skip it where nothing can be said."""
        import pytest

        __tracebackhide__ = True
        try:
            cell = self.judged()
        except ToolchainMissing as missing:
            pytest.skip(str(missing))
        if cell is None:
            missing_sections = ", ".join(sorted(self.unwinder.needs - self.run.built.image.sections.keys()))
            pytest.skip(f"{self.unwinder} does not apply: {self.unit} has no {missing_sections}")
        if cell.unexplained:
            pytest.fail(self.failure(cell), pytrace=False)

    @property
    def run(self) -> Run:
        """The unit, built and run; tests of one unit share it."""
        return _run(self.unit, _Shared(self.programs))

    def failure(self, cell: Cell) -> str:
        """What is wrong, in one sentence; the command that shows it; the place in the source."""
        first = cell.first_unexplained
        assert first is not None
        run = self.run
        said = self.unwinder.unwind(run.trace.snapshot(first.step))
        true = " < ".join(run.frame_names(run.truth(first.step).frames))
        claimed = " < ".join(run.frame_names(said.frames))
        end = "claims the root" if said.stopped is None else f"stops ({said.stopped.reason}: {run.stop(said)})"
        function = run.function(int(run.trace.pc[first.step]))
        return (
            f"at {first.where}, {self.unwinder} says {claimed} and {end}, where the stack is {true}: "
            f"{first.outcome.words}, one of {cell.unexplained} of {cell.sites} sites.\n"
            f"{self.command(first.step)}\n{self.place(run, first.step)}: {function}"
        )

    def command(self, step: int) -> str:
        """What shows a step on the command line."""
        words = ["testbed", "run", self.unit.program, "--arch", self.unit.arch, "--recipe", self.unit.recipe]
        words += [] if self.folder is None else ["--programs", str(self.folder)]
        return shlex.join([*words, *self.asked, "--at", f"@{step}"])

    def place(self, run: Run, step: int) -> str:
        """``file:line`` of a step; of assembly, which has no lines, that of the function's label."""
        source = run.built.source
        line = run.calls(run.truth(step).frames[0])[0].line
        if line is not None and line.line:
            return f"{source.path if line.name == source.path.name else line.file}:{line.line}"
        label = f"{run.function(int(run.trace.pc[step]))}:"
        lines = source.text.splitlines()
        at = next((number for number, text in enumerate(lines, 1) if text.strip().startswith(label)), 1)
        return f"{source.path}:{at}"


def plan(
    *unwinders: Unwinder | str,
    command: str | Sequence[str] | None = None,
    programs: str | Iterable[str] = "*",
    arch: str | Iterable[str] | None = None,
    recipe: str | Iterable[str] = "*",
    folder: str | Path | None = None,
    everything: bool = False,
) -> list[PlannedCell]:
    """The cells of unwinders on the units that patterns choose.

    ``unwinders`` are values, ``"package.module:NAME"``, or names and patterns of the catalogue; ``command`` starts a
    program that speaks docs/protocol.md, or is a list of such. ``folder`` holds programs of your own, from which
    ``programs`` chooses then. ``everything``: also units that a matrix leaves out. Raises UsageError.
    """
    folders = [] if folder is None else [Path(folder).absolute()]
    patterns = _listed(programs)
    known = corpus(folders, [] if folders else patterns)
    mine = {program.name: program for program in chosen_programs((), folders)} if folders else known
    planned = units(
        matching(mine, patterns, "program"),
        [arch_named(name) for name in _listed(arch)] or list(ARCHES.values()),
        matching(RECIPES, _listed(recipe), "recipe"),
        everything=everything,
    )
    if not planned:
        raise UsageError(f"no unit matches programs {programs!r}, arch {arch!r} and recipe {recipe!r}")
    asked = list(_asked(unwinders, _listed(command)))
    if not asked:
        raise UsageError("no unwinder: give an Unwinder, its name, or command=")
    return [
        PlannedCell(unit, unwinder, words, known, folders[0] if folders else None)
        for unit in planned
        for unwinder, words in asked
        if unwinder.arches is None or unit.arch in unwinder.arches
    ]


def _asked(unwinders: Iterable[Unwinder | str], commands: Iterable[str]) -> Iterator[tuple[Unwinder, tuple[str, ...]]]:
    from testbed.cli.plugins import brought

    for each in unwinders:
        if isinstance(each, str):
            for unwinder in unwinders_named([each]):
                yield unwinder, ("-u", each if ":" in each else unwinder.name)
        else:
            unwinder = brought(each, repr(each))
            yield unwinder, ("-u", _spec_of(each) or unwinder.name)
    for command in commands:
        yield unwinders_named((), [command])[0], ("--unwinder-cmd", command)


def _spec_of(value: Any) -> str:
    """``module:NAME`` where a value can be found by it; "" where it cannot."""
    own = getattr(getattr(value, "unwind", value), "__module__", "")
    for module in sorted(list(sys.modules), key=lambda name: name != own):
        for name, there in list(vars(sys.modules[module]).items()) if module != "__main__" else ():
            if there is value and name.isidentifier():
                return f"{module}:{name}"
    return ""


def _listed(value: str | Iterable[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Programs, by identity: a mapping has no hash."""

    programs: Mapping[str, Program] = field(hash=False)


@lru_cache(maxsize=1)
def _run(unit: Unit, shared: _Shared) -> Run:
    return run_unit(unit, shared.programs)
