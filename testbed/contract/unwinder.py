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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from testbed.contract.assumption import Assumption, CodeRow
from testbed.contract.native import ROOT, SPECIFICATION
from testbed.contract.rows import RowTable
from testbed.image import Image, LoadedImage, describe
from testbed.trace import Snapshot, Trace
from testbed.words.errors import NoProgress, UnwindError

# Frames and backtraces: what an unwinder says about one snapshot.


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
        already belong to the next function: https://github.com/libunwind/libunwind/issues/54.
        """
        return self.pc if self.kind is FrameKind.INTERRUPTED else self.pc - 1


def behind_call(frames: Sequence[Frame], index: int) -> bool:
    """True where a frame's pc is a return address, in front of which a call is.

    One whose caller was interrupted is a signal's trampoline: the handler returns to it, and nobody called it. Behind
    another function, ``pc - 1`` would be that one's.
    """
    if frames[index].kind is FrameKind.INTERRUPTED:
        return False
    return not (index + 1 < len(frames) and frames[index + 1].kind is FrameKind.INTERRUPTED)


_SHOWN = 12  # frames in a repr


@dataclass(frozen=True, slots=True)
class Backtrace:
    """What an unwinder says. ``frames[0]`` is the interrupted one, then its callers, innermost first.

    ``stopped`` None is a *claim*: the last frame is the root of the stack. Otherwise it is the reason why the
    unwinder does not know more. ``images`` are those that name the frames when it is printed.
    """

    frames: tuple[Frame, ...]
    stopped: UnwindError | None
    images: tuple[LoadedImage, ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        """One line; of a deep stack how many frames it has."""
        deep = len(self.frames)
        return f"<Backtrace {self}>" if deep <= _SHOWN else f"<Backtrace of {deep:,} frames, {self._end}>"

    @property
    def _end(self) -> str:
        return "root" if self.stopped is None else f"{self.stopped.reason}: {self.stopped}"

    def __str__(self) -> str:
        names = (describe(self.images, f.pc, caller=behind_call(self.frames, i)) for i, f in enumerate(self.frames))
        return " < ".join(names) + f" ({self._end})"


def interrupted_frame(snapshot: Snapshot) -> Frame:
    """The first frame of each backtrace: what the snapshot itself shows."""
    return Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")


def followed(snapshot: Snapshot, callers: Iterable[Frame], most: int | None = None) -> Backtrace:
    """The interrupted frame, then its callers as they are found.

    What ends them, an UnwindError or that they are more than ``most``, is why the backtrace stops.
    """
    frames, stopped = [interrupted_frame(snapshot)], None
    try:
        for frame in callers:
            frames.append(frame)
            if most is not None and len(frames) > most:
                raise NoProgress(f"more than {most} frames")
    except UnwindError as stop:
        stopped, stop.pc = stop, frames[-1].pc
    return Backtrace(tuple(frames), stopped, snapshot.images)


def nothing_found(snapshot: Snapshot, stop: UnwindError) -> Backtrace:
    """The interrupted frame alone, and why there is no more: who was asked refused, crashed or hung."""
    stop.pc = snapshot.pc
    return Backtrace((interrupted_frame(snapshot),), stop, snapshot.images)


# Backtraces of a whole trace, in columns: what an unwinder says at every step, without an object per step.
#
# Callers are *nodes* of a forest: a node is one frame and links to its caller, so stacks share their outer frames. A
# *site* is what is said about an interrupted frame: its CFA and its first caller; many steps share one. Where a link
# does not lead to a node it says why::
#
#     ROOT            the frame is claimed to be the outermost one
#     STOPPED         the unwinder does not know the caller
#     SPECIFICATION   left to the readable evaluator: some row of this stack is too rare for the native one


Why = Callable[[tuple[Frame, ...], Snapshot], UnwindError]


class NotTold(UnwindError):
    """A stop of which nobody asked why."""


@dataclass(frozen=True, eq=False)
class InnermostClaims:
    """What is said about interrupted frames; ``outer`` is a node, or why there is none."""

    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.outer)


@dataclass(frozen=True, eq=False)
class CallerClaims:
    """Callers. ``values[i, j]`` is node ``i``'s ``registers[j]`` where bit ``j`` of ``known[i]`` is set, else 0.

    ``outer`` is the node's caller or why there is none, ``end`` why the whole chain from here ends, ``depth`` how
    many nodes it has. ``found_by`` indexes the names in ``Backtraces.found_by``.
    """

    pc: NDArray[np.uint64]
    known: NDArray[np.uint64]
    values: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    found_by: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.pc)


@dataclass(frozen=True, eq=False)
class Backtraces:
    """One backtrace per step of a trace. ``backtraces[step]`` is a `Backtrace`, made when it is looked at.

    ``site[step]`` indexes ``sites``. No backtrace has more than ``most_frames`` frames: a longer chain stops there.
    ``specification`` is the unwinder's readable evaluator; ``why_stopped`` tells the reason of a stop, given the
    frames before it.
    """

    trace: Trace
    registers: tuple[str, ...]
    site: NDArray[np.int32] = field(repr=False)
    sites: InnermostClaims = field(repr=False)
    nodes: CallerClaims = field(repr=False)
    found_by: tuple[str, ...] = field(repr=False)
    most_frames: int
    specification: Callable[[Snapshot], Backtrace] = field(repr=False)
    why_stopped: Why = field(repr=False)

    def __len__(self) -> int:
        return len(self.site)

    def __str__(self) -> str:
        return f"{len(self)} backtraces of {len(self.sites)} sites and {len(self.nodes)} callers"

    def __iter__(self) -> Iterator[Backtrace]:
        return (self[step] for step in range(len(self)))

    def __getitem__(self, step: int) -> Backtrace:
        if not 0 <= step < len(self):
            raise IndexError(f"step {step}: these are the backtraces of the steps 0 to {len(self) - 1}")
        said = self.innermost(step, self.most_frames)
        if not isinstance(said.stopped, NotTold):
            return said
        return replace(said, stopped=self.why_stopped(said.frames, self.trace.snapshot(step)))

    def innermost(self, step: int, most: int) -> Backtrace:
        """The frames of a backtrace, ``most`` of them at most; why it stops is not told."""
        snapshot = self.trace.snapshot(step)
        site = int(self.site[step])
        node = int(self.sites.outer[site])
        if self._end(node) == SPECIFICATION:
            return self.specification(snapshot)
        cfa = int(self.sites.cfa[site]) if self.sites.cfa_known[site] else None
        frames = [Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, cfa, "registers")]
        while node >= 0 and len(frames) < min(most, self.most_frames):
            frames.append(self.caller(node))
            node = int(self.nodes.outer[node])
        if node == ROOT:
            return Backtrace(tuple(frames), None, snapshot.images)
        if node >= 0 and len(frames) == self.most_frames:  # cut: nothing was computed from the last frame
            frames[-1] = replace(frames[-1], cfa=None)
        return Backtrace(tuple(frames), NotTold(), snapshot.images)

    def caller(self, node: int) -> Frame:
        """The frame that a node is."""
        nodes, pc_name = self.nodes, self.trace.arch.pc
        known, pc = int(nodes.known[node]), int(nodes.pc[node])
        values = nodes.values[node].tolist()
        registers = {name: values[i] for i, name in enumerate(self.registers) if known >> i & 1}
        registers[pc_name] = pc
        cfa = int(nodes.cfa[node]) if nodes.cfa_known[node] else None
        return Frame(FrameKind.CALLER, pc, registers, cfa, self.found_by[nodes.found_by[node]])

    def depth(self, step: int) -> int | None:
        """How many frames a backtrace has, without making it; None where it is left to the specification."""
        node = int(self.sites.outer[self.site[step]])
        if self._end(node) == SPECIFICATION:
            return None
        return min(1 + int(self.nodes.depth[node]), self.most_frames) if node >= 0 else 1

    @property
    def claims_root(self) -> NDArray[np.bool_]:
        """The steps at which the last frame is claimed to be the outermost one."""
        outer = self.sites.outer
        ends = self.nodes.end[np.maximum(outer, 0)] if len(self.nodes) else outer
        found: NDArray[np.bool_] = (np.where(outer >= 0, ends, outer) == ROOT)[self.site]
        return found

    @property
    def frames(self) -> int:
        """How many frames all backtraces have; of those left to the specification, those that were found natively."""
        outer = self.sites.outer
        depth = np.where(outer >= 0, self.nodes.depth[np.maximum(outer, 0)] if len(self.nodes) else 0, 0)
        each = np.minimum(1 + depth.astype(np.int64), self.most_frames)
        return int((np.bincount(self.site, minlength=len(self.sites)) * each).sum())

    @property
    def slow_steps(self) -> NDArray[np.int64]:
        """The steps that are left to the specification."""
        outer = self.sites.outer
        ends = self.nodes.end[np.maximum(outer, 0)] if len(self.nodes) else outer
        slow = np.where(outer >= 0, ends, outer) == SPECIFICATION
        return np.flatnonzero(slow[self.site]) if slow.any() else np.empty(0, np.int64)

    def _end(self, node: int) -> int:
        return int(self.nodes.end[node]) if node >= 0 else node


class HeldTo(Enum):
    """What an unwinder is held to: when a run of it fails."""

    ASSUMPTION = "its assumption: where that holds it is exact, where it fails it says what the clause foretells"
    OPEN = "what the trace shows does not decide its assumption: where that and the answer disagree is counted"
    HONESTY = "honesty: it claims nothing false, and gives an answer"
    COUNTS = "its counts: a tool of others, which fails no run; tests notice where its outcomes change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwinder:
    """An unwinder as the catalogue holds it.

    ``done_by`` says who walks stacks so: ``perf record -g``. ``rows`` is what it claims at every pc of an image, for
    techniques that are tables. ``unwind_trace`` says for every step of a trace what ``unwind`` says, only faster:
    `unwinders.rows.native.traces` makes it. ``arches`` None means
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
    done_by: str = ""

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
