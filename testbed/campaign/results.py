"""What a matrix is made of, as values: units, cells, differences, and the results of all units.

A *unit* is one (program, arch, recipe): it is built and run once, and gives one *cell* per unwinder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from testbed.arch import ARCHES
from testbed.verdicts.counts import Counts
from testbed.words.errors import UsageError
from testbed.words.outcome import Outcome

if TYPE_CHECKING:
    from pandas import DataFrame


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
