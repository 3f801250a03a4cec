"""Backtraces of a whole trace, in columns: what an unwinder says at every step, without an object per step.

Callers are *nodes* of a forest: a node is one frame and links to its caller, so stacks share their outer frames. A
*site* is what is said about an interrupted frame: its CFA and its first caller; many steps share one. Where a link
does not lead to a node it says why::

    ROOT            the frame is claimed to be the outermost one
    STOPPED         the unwinder does not know the caller
    SPECIFICATION   left to the readable evaluator: some row of this stack is too rare for the native one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.native import ROOT, SPECIFICATION
from testbed.trace import Snapshot, Trace
from testbed.words.errors import UnwindError

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
