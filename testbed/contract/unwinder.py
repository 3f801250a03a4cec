"""THE CONTRACT between the testbed and an unwinder.

An unwinder is one technique for getting the callers of an interrupted instruction from registers, memory and
the images that are mapped: no history, no truth, no hidden fallback to another technique. It may say
"unknown" (stop with an UnwindError); it may not lie.

Three rungs; an unwinder takes the highest that fits:

* **row**: the technique is a table. ``row_for(frame, snapshot) -> UnwindRow``; `unwinders.rows.walk` applies it.
* **step**: ``caller_of(frame, snapshot) -> Frame``.
* **walk**: the whole ``unwind(snapshot) -> Backtrace``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from testbed.contract.assumption import Assumption, CodeRow
from testbed.contract.backtraces import Backtraces
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.image import Image
from testbed.trace import Snapshot, Trace


class HeldTo(Enum):
    """What an unwinder is held to: when a run of it fails."""

    ASSUMPTION = "its assumption: where that holds it is exact, where it fails it says what the clause foretells"
    OPEN = "what the trace shows does not decide its assumption: where that and the answer disagree is counted"
    HONESTY = "honesty: it claims nothing false, and gives an answer"
    COUNTS = "its counts: a tool of others, which fails no run; tests notice where its outcomes change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwinder:
    """An unwinder as the catalogue holds it.

    ``rows`` is what it claims at every pc of an image, for techniques that are tables. ``unwind_trace`` says for every
    step of a trace what ``unwind`` says, only faster: `unwinders.rows.native.traces` makes it. ``arches`` None means
    all; ``assumption`` is what must hold of each frame for it to be right. ``needs`` are sections without which it has
    nothing to say (such cells are left out of the matrix). ``tool`` says which program or library, and which version of
    it, stands behind an unwinder that is not ours; one that is ``counted`` fails no run. What stands behind one
    that is not ``repeatable`` may change unseen: its results are not kept.
    """

    name: str
    summary: str
    unwind: Callable[[Snapshot], Backtrace]
    rows: Callable[[Image], RowTable] | None = None
    unwind_trace: Callable[[Trace], Backtraces] | None = None
    arches: frozenset[str] | None = None
    needs: frozenset[str] = frozenset()
    assumption: Assumption | None = None
    tool: Callable[[], str] | None = None
    counted: bool = False
    repeatable: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def soon_judged(self) -> bool:
        """True where every step of a long run is judged soon: whole traces are followed."""
        return self.unwind_trace is not None

    @property
    def held_to(self) -> HeldTo:
        if self.counted:
            return HeldTo.COUNTS
        if self.assumption is None:
            return HeldTo.HONESTY
        return HeldTo.OPEN if isinstance(self.assumption, CodeRow) else HeldTo.ASSUMPTION

    def applies_to(self, image: Image) -> bool:
        """True where this unwinder exists for the image's architecture and the sections it needs are there."""
        return (self.arches is None or image.arch.name in self.arches) and self.needs <= image.sections.keys()
