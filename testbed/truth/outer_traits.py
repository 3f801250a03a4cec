"""What the activations further out add to the traits of every step of an activation, in columns.

A trait of a caller's frame is one of each of its callees' steps too: a frame that cannot be left hides all beyond it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.model import Activations
from testbed.truth.sites import SiteFacts
from testbed.truth.transfers import Bools

FunctionAt = Callable[[int], int]  # the start of the function at a pc


@dataclass(frozen=True, eq=False)
class OuterTraits:
    """What the activations further out add to every step of an activation; ``isas`` is a set of bits."""

    frameless_caller: Bools
    fp_reused: Bools
    tail_called: Bools
    signed: Bools
    isas: NDArray[np.int8]


def outer_traits(
    trace: Trace, activations: Activations, sites: SiteFacts, signed_steps: Bools, function: FunctionAt
) -> OuterTraits:
    """For every activation; a parent always comes before its children."""
    inner = np.flatnonzero(activations.parent >= 0)
    parent, call = activations.parent[inner], activations.opened[inner] - 1
    added = np.zeros(len(activations), np.int64)
    frameless = (activations.parent[parent] >= 0) & ~sites.moved[call]
    reused = reuses_pointer(trace, activations, sites, parent, call).astype(np.int64)
    tail = tail_called(trace, activations, function, parent, call).astype(np.int64)
    signed = signed_steps[call].astype(np.int64)
    isa = np.int64(16) << sites.isa[call].astype(np.int64)
    added[inner] = frameless | reused << 1 | tail << 2 | signed << 3 | isa
    bits, parents = added.tolist(), activations.parent.tolist()
    for index, outer in enumerate(parents):
        if outer >= 0:
            bits[index] |= bits[outer]
    every = np.array(bits, np.int64)
    isas = (every >> 4).astype(np.int8)
    return OuterTraits((every & 1) != 0, (every & 2) != 0, (every & 4) != 0, (every & 8) != 0, isas)


def tail_called(
    trace: Trace, activations: Activations, function: FunctionAt, index: NDArray[np.int32], step: NDArray[np.int64]
) -> Bools:
    """Where the function at the step is not the one at the activation's first step."""
    pcs = trace.pc
    different: Bools = _functions(function, pcs[activations.opened[index]]) != _functions(function, pcs[step])
    return different


def _functions(function: FunctionAt, pcs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    distinct, place = np.unique(pcs, return_inverse=True)
    return np.array([function(pc) for pc in distinct.tolist()], np.uint64)[place]


def reuses_pointer(
    trace: Trace, activations: Activations, sites: SiteFacts, index: NDArray[np.int32], step: NDArray[np.int64]
) -> Bools:
    """Where FP is neither its entry value nor an address in the activation's own frame."""
    word = np.uint64(trace.arch.word)
    end = np.where(activations.parent[index] >= 0, activations.cfa[index], activations.entry_sp[index] + word)
    pointer = sites.frame_pointer[step]
    inside = (trace.sp[step] <= pointer) & (pointer < end)
    found: Bools = sites.moved[step] & ~inside
    return found
