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

    def __len__(self) -> int:
        return len(self.step)

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
    while len(left):
        parent = activations.parent[index[left]]
        left, parent = left[parent >= 0], parent[parent >= 0]
        own[left] = activations.opened[index[left]] - 1
        pc[left] = activations.return_address[index[left]]
        index[left] = parent
        reached[left] += 1
        left = left[reached[left] < depths[left]]
    return FrameSites(steps, reached, index, own, pc)
