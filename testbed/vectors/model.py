"""Test vectors as values: what one file of them says. `testbed.vectors.write` writes it as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from testbed.runs.run import Run
from testbed.truth.phases import Phase
from testbed.words.outcome import Outcome

FORMAT = "testbed vectors"
VERSION = 2  # of the format: a reader of another version does not read this one


class Expected(Enum):
    """What can be expected of a technique at a site: as our unwinder of that technique shows."""

    EXACT = "exact"
    STOP = "stop"
    LIE = "lie"

    @property
    def meaning(self) -> str:
        return _MEANING[self]


_MEANING = {
    Expected.EXACT: "the technique can know the whole stack: an unwinder by this technique must be exact",
    Expected.STOP: "the technique cannot know the whole stack: an honest stop is right, and a lie is not",
    Expected.LIE: "the technique, taken alone, is deceived: a lie is foretold, an honest stop is better",
}


def expected_of(outcome: Outcome) -> Expected:
    """What an unwinder's outcome says can be expected of its technique."""
    if outcome is Outcome.EXACT:
        return Expected.EXACT
    return Expected.STOP if outcome.honest else Expected.LIE


@dataclass(frozen=True, slots=True)
class VectorCaller:
    """One true caller. ``also`` are further pcs that are right of it, ``kind`` is what its pc is: "call" (behind a
    call), "interrupted" (by a signal) or "trampoline" (a signal's: either will do)."""

    pc: int
    cfa: int | None
    kind: str
    function: str
    registers: Mapping[str, int] = field(repr=False)
    also: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteClass:
    """What many sites of a file have in common: the words about them, and what to expect of each technique.

    ``because`` has, of each technique that is not exact, the outcome and the clause of its assumption that fails.
    """

    words: tuple[str, ...]
    expected: Mapping[str, Expected]
    because: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Vector:
    """One site: the machine, the true callers, and what can be expected.

    ``blocks`` are the pieces of memory, by address, that are not as the program file has them, and not zero. ``visits``
    is how many sites of the run have this shape.
    """

    step: int
    phase: Phase
    where: str
    instruction: str
    isa: str
    registers: Mapping[str, int] = field(repr=False)
    cfa: int | None
    callers: tuple[VectorCaller, ...]
    site_class: SiteClass
    blocks: tuple[tuple[int, bytes], ...] = field(repr=False)
    visits: int


@dataclass(frozen=True, slots=True)
class VectorFile:
    """All vectors of one built program; ``named`` is how the command line is told which one."""

    named: str
    run: Run
    techniques: tuple[str, ...]
    vectors: tuple[Vector, ...]

    @property
    def stem(self) -> str:
        """The name of its files, but for their suffix."""
        return f"{self.run.program.name}.{self.run.recipe.name}"
