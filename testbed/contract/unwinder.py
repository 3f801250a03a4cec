"""THE CONTRACT between the testbed and a strategy.

A strategy is one technique for getting the callers of an interrupted instruction from registers, memory and
the images that are mapped: no history, no truth, no hidden fallback to another technique. It may say
"unknown" (stop with an UnwindError); it may not lie.

Three rungs; a strategy takes the highest that fits:

* **row**: the technique is a table. ``row_for(frame, snapshot) -> UnwindRow``; `unwinders.rows.walk` applies it.
* **step**: ``caller_of(frame, snapshot) -> Frame``.
* **walk**: the whole ``unwind(snapshot) -> Backtrace``.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.contract.backtraces import Backtraces
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.image import Image
from testbed.trace import Snapshot, Trace
from testbed.words.outcome import Outcome
from testbed.words.traits import OF_WORDS, Trait


@dataclass(frozen=True, slots=True)
class Limit:
    """A fact about a technique: at a frame with ``trait`` it shows as one of ``outcomes``, and why.

    The frame is the one at which the verdict goes wrong (`testbed.verdicts.comparing`), or ``inner`` frames further in
    (further out, where it is negative): a fact about another frame explains nothing. ``also`` are traits that the frame
    must have besides: with them the trait is the mechanism. A limit explains; it never excuses a bug. Every (limit,
    outcome) pair must occur in the corpus, on every architecture that the limit holds on. ``arches`` are those where it
    holds (None: all).
    """

    trait: Trait
    outcomes: frozenset[Outcome]
    because: str
    reference: str
    arches: frozenset[str] | None = None
    also: frozenset[Trait] = frozenset()
    inner: int = 0

    @property
    def mechanism(self) -> str:
        """The traits by name, ``PROLOGUE+UNLINKED``; ``<1``: of the frame one further in, ``>1``: further out."""
        names = "+".join(trait.name for trait in (self.trait, *sorted(self.also, key=lambda trait: trait.name)))
        return names + (f"<{self.inner}" if self.inner > 0 else f">{-self.inner}" if self.inner else "")

    def covers(self, outcome: Outcome, frame: int, traits: Callable[[int], Container[Trait]]) -> bool:
        """True where this limit explains an outcome that goes wrong at a frame; ``traits`` are those of any frame."""
        if outcome not in self.outcomes or frame < self.inner:
            return False
        there = traits(frame - self.inner)
        return self.trait in there and all(trait in there for trait in self.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwinder:
    """A strategy as the catalogue holds it.

    ``rows`` is what it claims at every pc of an image, for techniques that are tables. ``unwind_trace`` says for every
    step of a trace what ``unwind`` says, only faster: `unwinders.rows.native.traces` makes it. ``arches`` None means
    all; ``needs`` are sections without which it has nothing to say (such cells are left out of the matrix). ``tool``
    says which program or library, and which version of it, stands behind a strategy that is not ours. What stands
    behind one that is not ``repeatable`` may change unseen: its results are not kept.
    """

    name: str
    summary: str
    unwind: Callable[[Snapshot], Backtrace]
    rows: Callable[[Image], RowTable] | None = None
    unwind_trace: Callable[[Trace], Backtraces] | None = None
    arches: frozenset[str] | None = None
    needs: frozenset[str] = frozenset()
    limits: tuple[Limit, ...] = ()
    tool: Callable[[], str] | None = None
    repeatable: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def soon_judged(self) -> bool:
        """True where every step of a long run is judged soon: traces are followed, and no limit searches the stack."""
        return self.unwind_trace is not None and not any(limit.trait in OF_WORDS for limit in self.limits)

    def applies_to(self, image: Image) -> bool:
        """True where this strategy exists for the image's architecture and the sections it needs are there."""
        return (self.arches is None or image.arch.name in self.arches) and self.needs <= image.sections.keys()

    def limits_on(self, arch: Arch) -> tuple[Limit, ...]:
        """The limits that hold on an architecture."""
        return tuple(limit for limit in self.limits if limit.arches is None or arch.name in limit.arches)
