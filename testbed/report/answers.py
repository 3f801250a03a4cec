"""What every strategy said at every step of a run, kept small: chains of frames are shared.

Callers change slowly, so a backtrace is kept as a node of a forest: a frame and, further out, the frame that called
it. Node ``i`` is ``pc[i]``, ``cfa[i]`` (-1: not claimed) and ``outer[i]``: a node, or ``-1 - e`` where the chain ends
with ``ends[e]`` ("" is the claim that this is the root).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.judge import Verdict, judge_backtrace
from testbed.run import Run
from testbed.unwinder import Backtrace, Unwinder

NOTHING = -(1 << 31)  # the chain of a backtrace without any frame


@dataclass(frozen=True, eq=False)
class Answer:
    """One strategy at every step: the verdict, its callers as a node of the forest, its CFA of the innermost frame."""

    unwinder: Unwinder
    verdicts: tuple[Verdict, ...] = field(repr=False)
    callers: NDArray[np.int32] = field(repr=False)
    cfa: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Answers:
    """All strategies, and the forest that their ``callers`` point into."""

    each: tuple[Answer, ...]
    pc: NDArray[np.float64] = field(repr=False)
    cfa: NDArray[np.float64] = field(repr=False)
    outer: NDArray[np.int32] = field(repr=False)
    ends: tuple[str, ...]

    def chain(self, node: int) -> tuple[tuple[int, ...], str]:
        """The pcs from a node outwards, and how they end."""
        pcs = []
        while node >= 0:
            pcs.append(int(self.pc[node]))
            node = int(self.outer[node])
        return tuple(pcs), self.ends[-1 - node] if node != NOTHING else ""


class _Forest:
    """Nodes by what they are, so that equal chains are one."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int, int], int] = {}
        self.ends: dict[str, int] = {"": 0}

    def add(self, said: Backtrace) -> int:
        if not said.frames:
            return NOTHING
        end = "" if said.stopped is None else f"{said.stopped.reason}: {said.stopped}"
        node = -1 - self.ends.setdefault(end, len(self.ends))
        for frame in reversed(said.frames[1:]):
            key = (frame.pc, -1 if frame.cfa is None else frame.cfa, node)
            node = self.nodes.setdefault(key, len(self.nodes))
        return node


def answers_of(run: Run, unwinders: Sequence[Unwinder]) -> Answers:
    """Ask every strategy at every step, and judge what it says."""
    forest = _Forest()
    verdicts: list[list[Verdict]] = [[] for _ in unwinders]
    callers = np.empty((len(unwinders), len(run)), np.int32)
    cfas = np.full((len(unwinders), len(run)), -1.0)
    for step in range(len(run)):
        snapshot, truth, traits = run.trace.snapshot(step), run.truth(step), run.traits(step)
        for i, unwinder in enumerate(unwinders):
            said = unwinder.unwind(snapshot)
            verdicts[i].append(judge_backtrace(run.arch, truth, said, traits=traits, limits=unwinder.limits))
            callers[i, step] = forest.add(said)
            if said.frames and (cfa := said.frames[0].cfa) is not None:
                cfas[i, step] = cfa
    nodes = np.array(list(forest.nodes), np.float64).reshape(-1, 3)
    return Answers(
        tuple(Answer(unwinder, tuple(verdicts[i]), callers[i], cfas[i]) for i, unwinder in enumerate(unwinders)),
        nodes[:, 0],
        nodes[:, 1],
        nodes[:, 2].astype(np.int32),
        tuple(forest.ends),
    )
