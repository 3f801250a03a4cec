"""The matrix: every strategy at every site of every program, on every architecture, by every recipe.

A *unit* is one (program, arch, recipe): it is built and run once, and gives one *cell* per strategy. Units are
independent, so they are judged in parallel processes; results come as they are ready.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.recipes import RECIPES, Recipe, recipes_for
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.run import NATIVE_JUDGE, Run, judge, judge_all, run_built
from testbed.verdicts.one import NO_CALLERS, Callers, Tally, Verdict, tally
from testbed.verdicts.trace import Verdicts
from testbed.words.errors import TestbedError, ToolchainMissing, UsageError
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

if TYPE_CHECKING:
    from pandas import DataFrame

    from testbed.runs.long import LongRun

Job = TypeVar("Job")
SEED = 1  # of the values planted in registers: every unit of every matrix runs with the same
NATIVE_UNITS = 32  # for each process: judging fewer takes less time than loading the native walk
BUDGET = 1_000_000  # steps after which a unit is given up


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
    """One site that is not exact: where, what kind, and a sentence that a stranger understands."""

    step: int
    where: str
    outcome: Outcome
    trait: Trait | None  # of the limit that explains it; None: unexplained
    sentence: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One strategy on one unit, counted.

    ``sites`` is every executed step; ``transition`` of them have no single right answer and are in none of the
    other counts, ``callers`` included. exact + explained + unexplained + transition = sites; ``lying`` counts outcomes
    that claim something false, explained or not. ``shown`` counts the (limit's trait, outcome) pairs that occurred.
    """

    unit: Unit
    unwinder: str
    sites: int
    outcomes: Mapping[Outcome, int]
    explained: int
    unexplained: int
    transition: int
    shown: Mapping[tuple[Trait, Outcome], int] = field(default_factory=dict)
    first: Difference | None = None
    first_unexplained: Difference | None = None
    callers: Callers = NO_CALLERS

    @property
    def exact(self) -> int:
        return self.outcomes.get(Outcome.EXACT, 0)

    @property
    def lying(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome.lying)

    def __str__(self) -> str:
        return f"{self.unit}-{self.unwinder}"


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What became of a unit: its cells, or why there are none (``skipped``: a tool is missing; ``failed``).

    ``tools`` are the versions of what built it. ``kept`` says that it was not judged now but taken from an earlier,
    equal judgement; no report differs by it.
    """

    unit: Unit
    cells: tuple[Cell, ...] = ()
    steps: int = 0
    skipped: str = ""
    failed: str = ""
    tools: str = ""
    kept: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Matrix:
    """All results of one invocation, in catalogue order. ``complete`` is false when it was interrupted.

    ``asked`` are the names of the strategies, in catalogue order: the first unit need not have all of them.
    """

    results: tuple[UnitResult, ...]
    planned: int
    asked: tuple[str, ...] = ()

    @property
    def unwinders(self) -> tuple[str, ...]:
        """The strategies that have cells: in the order in which they were asked, else in which they occur."""
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

    def by_strategy(self) -> Mapping[tuple[str, str], Sequence[Cell]]:
        """The cells of each (strategy, architecture), in catalogue order."""
        strategies, arches = self.unwinders, list(ARCHES)
        found: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.unwinder, cell.unit.arch), []).append(cell)
        return dict(sorted(found.items(), key=lambda p: (strategies.index(p[0][0]), arches.index(p[0][1]))))

    @property
    def all_explained(self) -> bool:
        """True where every unit ran and no site is unexplained. A matrix without a single site is not."""
        sites = sum(cell.sites for cell in self.cells)
        return sites > 0 and not any(c.unexplained for c in self.cells) and not any(r.failed for r in self.results)

    def to_pandas(self) -> DataFrame:
        """The cells as a table: one row each, with the unit, the strategy, the counts, and a column per outcome.

        Raises UsageError where pandas is not installed.
        """
        try:
            import pandas
        except ImportError as missing:
            raise UsageError("to_pandas needs pandas: pip install testbed[notebooks]") from missing
        counts = ("sites", "exact", "explained", "unexplained", "lying", "transition")
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


def units(
    programs: Iterable[Program], arches: Iterable[Arch], recipes: Iterable[Recipe], *, everything: bool = False
) -> tuple[Unit, ...]:
    """The units there are for these programs, architectures and recipes, in catalogue order.

    They are those of `testbed.build.selection`, or with ``everything`` all that can be built.
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


def build_unit(unit: Unit, programs: Mapping[str, Program], *, fresh: bool = False) -> Built:
    """Build a unit, or take the file of an earlier equal build (never with ``fresh``)."""
    return build(programs[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe], fresh=fresh)


def run_unit(unit: Unit, programs: Mapping[str, Program], *, fresh: bool = False) -> Run:
    """Build and run a unit. Raises TestbedError where it cannot be built or does not run right."""
    run = run_built(build_unit(unit, programs, fresh=fresh), seed=SEED, budget=BUDGET)
    if run.failure:
        raise TestbedError(run.failure)
    return run


def cell_of(run: Run, unwinder: Unwinder, verdicts: Sequence[Verdict]) -> Cell:
    """Count one strategy's verdicts at every step of a run."""
    counted = verdicts.tally() if isinstance(verdicts, Verdicts) else tally(verdicts)
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    return _cell(unit, unwinder, counted, lambda step: difference(run, unwinder, step) if step >= 0 else None)


def cell_of_long(run: LongRun, unwinder: Unwinder, counted: Tally) -> Cell:
    """As `cell_of`, of verdicts that are counted already."""

    def told(step: int) -> Difference | None:
        if step < 0:
            return None
        piece, window = run.piece(step)
        return difference(piece, unwinder, window.row(step), number=step)

    unit = Unit(run.built.program.name, run.built.arch.name, run.built.recipe.name)
    return _cell(unit, unwinder, counted, told)


def _cell(unit: Unit, unwinder: Unwinder, counted: Tally, told: Callable[[int], Difference | None]) -> Cell:
    return Cell(
        unit=unit,
        unwinder=unwinder.name,
        sites=counted.sites,
        outcomes=counted.outcomes,
        explained=counted.explained,
        unexplained=counted.unexplained,
        transition=counted.transition,
        shown=counted.shown,
        first=told(counted.first),
        first_unexplained=told(counted.first_unexplained),
        callers=counted.callers,
    )


def difference(run: Run, unwinder: Unwinder, step: int, *, number: int | None = None) -> Difference:
    """One site that is not exact, in words: the truth, what was said, and why. ``number``: what the step is called."""
    number = step if number is None else number
    snapshot = run.trace.snapshot(step)
    said = unwinder.unwind(snapshot)
    verdict = judge(run, snapshot, said, unwinder)
    true = " < ".join(run.frame_names(run.truth(step).frames))
    claimed = " < ".join(run.frame_names(said.frames))
    end = "and claims the root" if said.stopped is None else f"and stops: {said.stopped.reason}, {run.stop(said)}"
    limit = verdict.explained_by
    why = f"Because {limit.because} ({limit.reference})." if limit else f"UNEXPLAINED: {run.difference(verdict)}."
    where = run.where(snapshot.pc)
    line = run.calls(run.truth(step).frames[0])[0].line
    source = f"{line.name}:{line.line}, " if line is not None and line.line else ""
    return Difference(
        number,
        where,
        verdict.outcome,
        limit.trait if limit else None,
        f"at step {number}, {where} ({source}{run.instruction(step)}), the stack is {true}; "
        f"{unwinder.name} says {claimed} {end}: {verdict.outcome.value}. {why}",
    )


def judge_unit(
    unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], *, fresh: bool = False
) -> UnitResult:
    """Everything about one unit, with every failure as a value: this runs in worker processes."""
    try:
        run = run_unit(unit, programs, fresh=fresh)
    except ToolchainMissing as missing:
        return UnitResult(unit, skipped=str(missing))
    except TestbedError as error:
        return UnitResult(unit, failed=str(error))
    cells = []
    for unwinder in unwinders:
        if not unwinder.applies_to(run.built.image):
            continue
        try:
            cells.append(cell_of(run, unwinder, judge_all(run, unwinder)))
        except Exception:  # a bug in a strategy: this cell is an error, the others still count
            return UnitResult(unit, tuple(cells), len(run), failed=f"{unwinder.name} crashed\n{traceback.format_exc()}")
    return UnitResult(unit, tuple(cells), len(run), tools=run.built.tools)


def judge_units(planned: Sequence[Job], work: Callable[[Job], UnitResult], *, jobs: int) -> Iterator[UnitResult]:
    """Judge units in ``jobs`` processes (1: in this one), yielding results as they are ready.

    ``work`` must be a module-level function: it is sent to the workers by name, each job by value. Closing the
    iterator, or an interrupt, cancels what has not started.
    """
    natively = len(planned) >= NATIVE_UNITS * max(jobs, 1)
    if jobs <= 1:
        if natively:
            import_module(NATIVE_JUDGE)
        yield from map(work, planned)
        return
    pool = ProcessPoolExecutor(jobs, initializer=_start_worker, initargs=(natively,))
    pending: set[Future[UnitResult]] = set()
    try:
        pending |= {pool.submit(work, job) for job in planned}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        # What runs is waited for, a unit is short: a pool left to the interpreter's exit may die there, noisily.
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker(natively: bool) -> None:
    """Ctrl-C reaches the whole process group: the workers leave it to us and finish the unit they are at."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if natively:
        import_module(NATIVE_JUDGE)  # from now on `judge_all` uses it
