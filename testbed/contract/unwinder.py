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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from testbed.arch import Arch
from testbed.contract.rows import RowTable
from testbed.image import Image, LoadedImage, describe
from testbed.trace import Snapshot, Trace
from testbed.words.errors import (
    MalformedTable,
    NoProgress,
    NoUnwindInfo,
    ToolCrashed,
    ToolHung,
    UnknownRegister,
    UnreadableMemory,
    UnsupportedRule,
    UnwindError,
)
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

if TYPE_CHECKING:
    from testbed.contract.backtraces import Backtraces

__all__ = [
    "Backtrace",
    "Frame",
    "FrameKind",
    "Limit",
    "MalformedTable",
    "NoProgress",
    "NoUnwindInfo",
    "ToolCrashed",
    "ToolHung",
    "UnknownRegister",
    "UnreadableMemory",
    "UnsupportedRule",
    "UnwindError",
    "Unwinder",
]


class FrameKind(Enum):
    """What a frame's pc is."""

    INTERRUPTED = "pc is the next instruction to execute"
    CALLER = "pc is a return address: the instruction after a call"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: the registers that its function will see when it resumes.

    A register that is missing is unknown. ``registers[arch.pc]`` is always there. ``cfa`` is this frame's own
    canonical frame address (the caller's SP), where the technique computes one. ``found_by`` names the rule or
    row that found this frame.
    """

    kind: FrameKind
    pc: int
    registers: Mapping[str, int]
    cfa: int | None = None
    found_by: str = ""

    @property
    def lookup_pc(self) -> int:
        """The address to look this frame up by: inside the call instruction for a CALLER.

        A call can be the last instruction of its function (the callee never returns), so a return address may
        already belong to the next function: https://github.com/libunwind/libunwind/issues/54. Nowhere else
        subtracts.
        """
        return self.pc if self.kind is FrameKind.INTERRUPTED else self.pc - 1


@dataclass(frozen=True, slots=True)
class Backtrace:
    """What a strategy says. ``frames[0]`` is the interrupted one, then its callers, innermost first.

    ``stopped`` None is a *claim*: the last frame is the root of the stack. Otherwise it is the reason why the
    strategy does not know more. ``images`` are those that name the frames when it is printed.
    """

    frames: tuple[Frame, ...]
    stopped: UnwindError | None
    images: tuple[LoadedImage, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        end = "root" if self.stopped is None else f"{self.stopped.reason}: {self.stopped}"
        names = (describe(self.images, f.pc, caller=f.kind is FrameKind.CALLER) for f in self.frames)
        return " < ".join(names) + f" ({end})"


@dataclass(frozen=True, slots=True)
class Limit:
    """A fact about a technique: at sites with ``trait`` it shows as one of ``outcomes``, and why.

    A limit explains; it never excuses a bug. Every (limit, outcome) pair must occur somewhere in the corpus.
    ``arches`` are those where it holds (None: all).
    """

    trait: Trait
    outcomes: frozenset[Outcome]
    because: str
    reference: str
    arches: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwinder:
    """A strategy as the catalogue holds it.

    ``rows`` is what it claims at every pc of an image, for techniques that are tables. ``unwind_trace`` says for every
    step of a trace what ``unwind`` says, only faster: `unwinders.rows.native.traces` makes it. ``arches`` None means
    all; ``needs`` are sections without which it has nothing to say (such cells are left out of the matrix). ``tool``
    says which program or library, and which version of it, stands behind a strategy that is not ours.
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

    def __str__(self) -> str:
        return self.name

    def applies_to(self, image: Image) -> bool:
        """True where this strategy exists for the image's architecture and the sections it needs are there."""
        return (self.arches is None or image.arch.name in self.arches) and self.needs <= image.sections.keys()

    def limits_on(self, arch: Arch) -> tuple[Limit, ...]:
        """The limits that hold on an architecture."""
        return tuple(limit for limit in self.limits if limit.arches is None or arch.name in limit.arches)
