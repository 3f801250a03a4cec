"""A frame of a stack at a step, and the steps whose registers say what it was like when it was left.

Frame ``depth`` of step ``k`` belongs to the activation ``node``; ``pc`` is where that one goes on. ``own`` is the step
at which it stands: ``k`` itself for the innermost frame, the step of its call for one further out. A frame that a
signal interrupted stands at the signal's step. So does a signal's own frame while its handler runs: its trampoline has
not begun yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.model import Activations

ONE_BY_ONE = 64
"""Frames that are gone through one by one; those further out are found in ever longer leaps, as recursion needs."""


class FrameSite(NamedTuple):
    """One frame at one step."""

    step: int
    depth: int
    node: int
    own: int
    pc: int


@dataclass(frozen=True, eq=False)
class FrameSites:
    """The same in columns: one frame of each of some steps."""

    step: NDArray[np.int64]
    depth: NDArray[np.int64]
    node: NDArray[np.int32]
    own: NDArray[np.int64]
    pc: NDArray[np.uint64]

    def some(self, chosen: NDArray[np.int64]) -> FrameSites:
        """Some of them."""
        return FrameSites(self.step[chosen], self.depth[chosen], self.node[chosen], self.own[chosen], self.pc[chosen])


def frame_site(trace: Trace, activations: Activations, node: NDArray[np.int32], step: int, depth: int) -> FrameSite:
    """Frame ``depth`` of a step; the outermost one where there are not that many."""
    index, own, pc = int(node[step]), step, int(trace.pc[step])
    for i in range(depth):
        parent = int(activations.parent[index])
        if parent < 0:
            return FrameSite(step, i, index, own, pc)
        own, pc = int(activations.opened[index]) - 1, int(activations.return_address[index])
        index = parent
    return FrameSite(step, depth, index, own, pc)


def frame_sites(
    trace: Trace,
    activations: Activations,
    node: NDArray[np.int32],
    steps: NDArray[np.int64],
    depths: NDArray[np.int64],
) -> FrameSites:
    """One frame of each of some steps: as `frame_site` has it."""
    index, own, pc, reached = node[steps].copy(), steps.copy(), trace.pc[steps], np.zeros(len(steps), np.int64)
    left = np.flatnonzero(depths > 0)
    for _ in range(ONE_BY_ONE):
        parent = activations.parent[index[left]]
        left, parent = left[parent >= 0], parent[parent >= 0]
        own[left] = activations.opened[index[left]] - 1
        pc[left] = activations.return_address[index[left]]
        index[left] = parent
        reached[left] += 1
        left = left[reached[left] < depths[left]]
        if not len(left):
            break
    else:
        far = np.minimum(depths[left] - reached[left], heights(activations.parent)[index[left]])
        left, far = left[far > 0], far[far > 0]
        last = ancestors(activations.parent, index[left], far - 1)
        own[left], pc[left] = activations.opened[last] - 1, activations.return_address[last]
        index[left] = activations.parent[last]
        reached[left] += far
    return FrameSites(steps, reached, index, own, pc)


def heights(parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many ancestors each node has: as many rounds as the greatest number has binary digits."""
    up, found = parent.copy(), (parent >= 0).astype(np.int64)
    while len(left := np.flatnonzero(up >= 0)):
        found[left] += found[up[left]]
        up[left] = up[up[left]]
    return found


def ancestors(parent: NDArray[np.int32], nodes: NDArray[np.int32], far: NDArray[np.int64]) -> NDArray[np.int32]:
    """The ancestor of each node that is so far away; there are that many. Rounds as in `heights`."""
    up, found, left = parent.copy(), nodes.copy(), far.copy()
    while left.any():
        odd = np.flatnonzero(left & 1)
        found[odd] = up[found[odd]]
        left >>= 1
        higher = np.flatnonzero(up >= 0)
        up[higher] = up[up[higher]]
    return found
