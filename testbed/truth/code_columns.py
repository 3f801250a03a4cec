"""Columns of facts about code: each is asked for once for each pc."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from testbed.truth.frame_sites import FrameSites
from testbed.truth.transfers import Bools
from testbed.truth.watched import Watched

TraitColumn = Callable[[Watched, FrameSites], Bools]


def nowhere(truth: Watched, at: FrameSites) -> Bools:
    return np.zeros(len(at), np.bool_)


def functions(truth: Watched, pcs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return by_pc(pcs, truth.function)


def by_pc(pcs: NDArray[np.uint64], fact: Callable[[int], int]) -> NDArray[np.uint64]:
    """A fact about code, asked for once for each pc."""
    distinct, place = np.unique(pcs, return_inverse=True)
    return np.array([fact(pc) for pc in distinct.tolist()], np.uint64)[place]


def standing_at(holds: Callable[[Watched, int], bool]) -> TraitColumn:
    """A fact about the pc of an interrupted frame."""
    return lambda truth, at: (at.depth == 0) & by_pc(truth.trace.pc[at.step], partial(holds, truth)).astype(np.bool_)


def executing_at(holds: Callable[[Watched, int], bool]) -> TraitColumn:
    """A fact about the pc of a frame's activation: that of its call, if it has made one."""
    return lambda truth, at: by_pc(truth.trace.pc[at.own], partial(holds, truth)).astype(np.bool_)


def calling_at(holds: Callable[[Watched, int], bool]) -> TraitColumn:
    """The same of the call that a frame further out has made."""
    return lambda truth, at: (at.depth > 0) & executing_at(holds)(truth, at)
