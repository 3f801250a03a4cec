"""Verdicts counted: one unwinder on one unit, and its first difference in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.recipes import RECIPES, Recipe, recipes_for
from testbed.campaign.results import Cell, CountedCause, Difference, Unit
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.naming.beside import folded_names
from testbed.program.model import Program
from testbed.runs.judging import judge
from testbed.runs.run import Run, run_built
from testbed.truth.expectations import NOT_AS_DECLARED
from testbed.verdicts.counts import OUTCOMES, Counts
from testbed.verdicts.one import Verdict, counted
from testbed.verdicts.trace import counts_of
from testbed.words.errors import TestbedError

if TYPE_CHECKING:
    from testbed.runs.long import LongRun  # it loads numba


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
