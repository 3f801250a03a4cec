"""Verdicts counted: one unwinder on one unit, and its first difference in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.recipes import RECIPES, Recipe, recipes_for
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.naming.beside import folded_names
from testbed.program.model import Program
from testbed.runs.run import Run, judge, run_built
from testbed.truth.expectations import NOT_AS_DECLARED
from testbed.verdicts.trace import counts_of
from testbed.verdicts.verdict import OUTCOMES, Counts, Verdict, counted
from testbed.words.errors import TestbedError, UsageError
from testbed.words.outcome import Outcome

# What a matrix is made of, as values: units, cells, differences, and the results of all units.
#
# A *unit* is one (program, arch, recipe): it is built and run once, and gives one *cell* per unwinder.

if TYPE_CHECKING:
    from pandas import DataFrame

    from testbed.runs.long import LongRun  # it loads numba


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """One (program, arch, recipe), by name: what a worker process is told."""

    program: str
    arch: str
    recipe: str

    def __str__(self) -> str:
        return f"{self.program}-{self.arch}-{self.recipe}"


@dataclass(frozen=True, slots=True)
class Difference:
    """One site that is not exact: where, what kind, and sentences that a stranger understands.

    ``seen`` says what is true there and what was said, ``because`` why. ``clause`` is the name of the one that fails
    there, "" where no assumption is stated; None where the answer is not what its unwinder is held to.
    """

    step: int
    where: str
    outcome: Outcome
    clause: str | None
    seen: str
    because: str

    @property
    def sentence(self) -> str:
        """All of it."""
        return f"{self.seen} {self.wrong if self.clause is None else f'Because {self.because}.'}"

    @property
    def wrong(self) -> str:
        """What is not as it must be, as a sentence: ``Frame 0 is not the root.``"""
        return f"{self.because[:1].upper()}{self.because[1:]}."


@dataclass(frozen=True, slots=True)
class CountedCause:
    """Why an unwinder is not exact at some ``steps``, which came out as one outcome: the clause of its assumption that
    fails at all of them, and ``because``, with the evidence of the first.
    """

    clause: str
    because: str
    outcome: Outcome
    steps: int


@dataclass(frozen=True, kw_only=True)
class Cell(Counts):
    """One unwinder on one unit, counted.

    ``causes`` says in sentences what `shown` counts, the most frequent one first. ``first`` is the first site that is
    not exact, ``first_unexplained`` the first that is not what its unwinder is held to, ``first_lie`` the first that
    says something false.
    """

    unit: Unit
    unwinder: str
    causes: tuple[CountedCause, ...] = ()
    first: Difference | None = None
    first_unexplained: Difference | None = None
    first_lie: Difference | None = None

    def __str__(self) -> str:
        return f"{self.unit}-{self.unwinder}"


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What became of a unit: its cells, or why there are none (``skipped``: a tool is missing; ``failed``).

    ``tools`` are the versions of what built it. ``mistakes`` are those that its compiler is known to make in tables,
    where they showed: programs of the corpus that show them. ``kept`` says that it was not judged now but taken from an
    earlier, equal judgement; no report differs by it.
    """

    unit: Unit
    cells: tuple[Cell, ...] = ()
    steps: int = 0
    skipped: str = ""
    failed: str = ""
    tools: str = ""
    mistakes: tuple[str, ...] = ()
    kept: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Matrix:
    """All results of one invocation, in catalogue order. ``complete`` is false when it was interrupted.

    ``asked`` are the names of the unwinders, in catalogue order: the first unit need not have all of them.
    """

    results: tuple[UnitResult, ...]
    planned: int
    asked: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line: a matrix of everything has 17,000 cells."""
        cells = self.cells
        exact, judged = sum(cell.exact for cell in cells), sum(cell.judged for cell in cells)
        return f"<Matrix of {len(self.results):,} units, {len(cells):,} cells: {exact:,} of {judged:,} sites exact>"

    @property
    def unwinders(self) -> tuple[str, ...]:
        """The unwinders that have cells: in the order in which they were asked, else in which they occur."""
        there = dict.fromkeys(cell.unwinder for cell in self.cells)
        first = [name for name in self.asked if name in there]
        return (*first, *(name for name in there if name not in self.asked))

    @property
    def complete(self) -> bool:
        return len(self.results) == self.planned

    @property
    def kept(self) -> int:
        """How many of the results are kept ones."""
        return sum(1 for result in self.results if result.kept)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cell for result in self.results for cell in result.cells)

    def by_unwinder(self) -> Mapping[tuple[str, str], Sequence[Cell]]:
        """The cells of each (unwinder, architecture), in catalogue order."""
        order, arches = self.unwinders, list(ARCHES)
        found: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.unwinder, cell.unit.arch), []).append(cell)
        return dict(sorted(found.items(), key=lambda p: (order.index(p[0][0]), arches.index(p[0][1]))))

    @property
    def all_explained(self) -> bool:
        """True where every unit ran and no site is unexplained. A matrix without a single site is not."""
        judged = any(cell.sites for cell in self.cells) and not any(result.failed for result in self.results)
        return judged and not any(cell.unexplained for cell in self.cells)

    def to_pandas(self) -> DataFrame:
        """The cells as a table: one row each, with the unit, the unwinder, the counts, and a column per outcome.

        Raises UsageError where pandas is not installed.
        """
        try:
            import pandas
        except ImportError as missing:
            raise UsageError("to_pandas needs pandas: pip install 'unwind-testbed[notebooks]'") from missing
        counts = (
            "sites",
            "exact",
            "foretold",
            "luck",
            "open",
            "unexplained",
            "lying",
            "transition",
            "undecided",
        )
        callers = ("said", "true", "found")
        columns = ["program", "arch", "recipe", "unwinder", *counts, *(f"n_{outcome.value}" for outcome in Outcome)]
        columns += [f"callers_{name}" for name in callers]
        rows = [
            [
                *(cell.unit.program, cell.unit.arch, cell.unit.recipe, cell.unwinder),
                *(getattr(cell, name) for name in counts),
                *(cell.outcomes.get(outcome, 0) for outcome in Outcome),
                *(getattr(cell.callers, name) for name in callers),
            ]
            for cell in self.cells
        ]
        return pandas.DataFrame(rows, columns=columns)


# Which units there are, and each of them built and run.

SEED = 1  # of the values planted in registers: every unit of every matrix runs with the same
BUDGET = 1_000_000  # steps after which a unit is given up


def units(
    programs: Iterable[Program], arches: Iterable[Arch], recipes: Iterable[Recipe], *, everything: bool = False
) -> tuple[Unit, ...]:
    """The units there are for these programs, architectures and recipes, in catalogue order.

    They are those of `testbed/build/recipes.toml`, or with ``everything`` all that can be built.
    """
    chosen_arches, chosen_recipes = set(arches), {recipe.name for recipe in recipes}
    return tuple(
        Unit(program.name, arch.name, recipe.name)
        for program in programs
        for arch in program.arches()
        if arch in chosen_arches
        for recipe in recipes_for(program, arch, everything=everything)
        if recipe.name in chosen_recipes
    )


def one_of_each(planned: Iterable[Unit]) -> tuple[Unit, ...]:
    """Of each program one unit for each instruction set that it is built for, whatever the recipe; in their order.

    Which one follows from the names alone, so that one more program does not change the others'.
    """
    chosen: dict[tuple[str, str, str], Unit] = {}
    for unit in planned:
        isa = RECIPES[unit.recipe].isa_on(ARCHES[unit.arch])
        key = unit.program, unit.arch, isa.name if isa else ""
        chosen[key] = min(chosen.get(key, unit), unit, key=lambda each: sha256(str(each).encode("utf-8")).digest())
    return tuple(chosen.values())


def build_unit(unit: Unit, programs: Mapping[str, Program], *, fresh: bool = False) -> Built:
    """Build a unit, or take the file of an earlier equal build (never with ``fresh``)."""
    return build(programs[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe], fresh=fresh)


def run_unit(unit: Unit, programs: Mapping[str, Program], *, fresh: bool = False) -> Run:
    """Build and run a unit.

    Raises TestbedError where it cannot be built, does not run right, or has other stacks than its header declares.
    """
    run = run_built(build_unit(unit, programs, fresh=fresh), seed=SEED, budget=BUDGET)
    if run.failure:
        raise TestbedError(run.failure)
    if run.disagreements:
        raise TestbedError("\n".join((*run.disagreements, NOT_AS_DECLARED)))
    return run


def cell_of(run: Run, unwinder: Unwinder, verdicts: Sequence[Verdict], *, in_words: bool = True) -> Cell:
    """Count one unwinder's verdicts at every step of a run. Unless ``in_words``, only what is unexplained is told."""
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    counts = counts_of(verdicts)
    unexplained = counts.first_step(lambda kind: kind.unexplained)

    def told(step: int) -> Difference | None:
        silent = not in_words and step != unexplained
        return None if silent else difference(run, unwinder, step, said=verdicts[step].said)

    return _cell(unit, unwinder, counts, told)


def cell_of_long(run: LongRun, unwinder: Unwinder, counts: Counts) -> Cell:
    """As `cell_of`, of verdicts that are counted already."""

    def told(step: int) -> Difference:
        piece, window = run.piece(step)
        return difference(piece, unwinder, window.row(step), number=step, said=run.judged(unwinder).said.get(step))

    unit = Unit(run.built.program.name, run.built.arch.name, run.built.recipe.name)
    return _cell(unit, unwinder, counts, told)


def cell_of_steps(run: Run, unwinder: Unwinder, said: Mapping[int, Backtrace], verdicts: Mapping[int, Verdict]) -> Cell:
    """As `cell_of`, of what was said at some steps, and the verdicts on it."""
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    steps = list(verdicts)

    def told(i: int) -> Difference:
        return difference(run, unwinder, steps[i], said=said[steps[i]])

    return _cell(unit, unwinder, counted(verdicts.values()), told)


def _cell(unit: Unit, unwinder: Unwinder, counts: Counts, tell: Callable[[int], Difference | None]) -> Cell:
    @cache
    def told(step: int) -> Difference | None:
        return tell(step) if step >= 0 else None

    return Cell(
        **vars(counts),
        unit=unit,
        unwinder=unwinder.name,
        causes=_causes(counts, told),
        first=told(counts.first_step(lambda kind: not kind.exact)),
        first_unexplained=told(counts.first_step(lambda kind: kind.unexplained)),
        first_lie=told(counts.first_step(lambda kind: kind.lying)),
    )


def _causes(counts: Counts, tell: Callable[[int], Difference | None]) -> tuple[CountedCause, ...]:
    """What was foretold, by clause and outcome, in the words of the clause's first site; the most frequent first."""
    told = []
    for (clause, outcome), steps in counts.shown.items():
        first = counts.first_step(lambda kind, clause=clause: kind.clause == clause and not kind.exact)  # type: ignore[misc]
        if difference := tell(first):
            told.append(CountedCause(clause, difference.because, outcome, steps))
    return tuple(sorted(told, key=lambda each: (-each.steps, each.clause, OUTCOMES.index(each.outcome))))


def difference(
    run: Run, unwinder: Unwinder, step: int, *, number: int | None = None, said: Backtrace | None = None
) -> Difference:
    """One site that is not exact, in words: the truth, what was said, and why.

    ``number``: what the step is called; ``said``: what the unwinder said, where that is known.
    """
    number = step if number is None else number
    snapshot = run.trace.snapshot(step)
    said = said or unwinder.unwind(snapshot)
    verdict = judge(run, snapshot, said, unwinder)
    true = folded_names(run.frame_names(run.truth(step).frames))
    claimed = folded_names(run.frame_names(said.frames))
    end = "and claims the root" if said.stopped is None else f"and stops: {said.stopped.reason}, {run.stop(said)}"
    where = run.where(snapshot.pc)
    line = run.calls(run.truth(step).frames[0])[0].line
    why = run.why(verdict, step)
    source = f"{line.name}:{line.line}, " if line is not None and line.line else ""
    return Difference(
        number,
        where,
        verdict.outcome,
        None if verdict.unexplained else verdict.clause,
        f"at step {number}, {where} ({source}{run.instruction(step)}), the stack is {true}; "
        f"{unwinder.name} says {claimed} {end}: {verdict.outcome.words}.",
        f"{run.difference(verdict)}; {why}" if verdict.accord.unforetold else why or run.difference(verdict),
    )
