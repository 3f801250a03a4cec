"""The truth as columns: traits of many steps at once.

The same facts as `Truth.stack` and `Truth.traits` give, for whole traces; a test holds them to those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from testbed.truth.transfers import Bools
from testbed.words.traits import Trait

if TYPE_CHECKING:
    from testbed.truth.observe import Truth


@dataclass(frozen=True, eq=False)
class OuterTraits:
    """What the activations further out add to every step of an activation; ``isas`` is a set of bits."""

    frameless_caller: Bools
    fp_reused: Bools
    tail_called: Bools
    signed: Bools
    isas: NDArray[np.int8]


def outer_traits(truth: Truth) -> OuterTraits:
    """For every activation; a parent always comes before its children."""
    activations, sites = truth.activations, truth.sites
    inner = np.flatnonzero(activations.parent >= 0)
    parent, call = activations.parent[inner], activations.opened[inner] - 1
    added = np.zeros(len(activations), np.int64)
    frameless = (activations.parent[parent] >= 0) & ~sites.moved[call]
    reused = _reuses_pointer(truth, parent, call).astype(np.int64)
    tail_called = _tail_called(truth, parent, call).astype(np.int64)
    signed = truth.signed[call].astype(np.int64)
    isa = np.int64(16) << sites.isa[call].astype(np.int64)
    added[inner] = frameless | reused << 1 | tail_called << 2 | signed << 3 | isa
    bits, parents = added.tolist(), activations.parent.tolist()
    for index, outer in enumerate(parents):
        if outer >= 0:
            bits[index] |= bits[outer]
    every = np.array(bits, np.int64)
    isas = (every >> 4).astype(np.int8)
    return OuterTraits((every & 1) != 0, (every & 2) != 0, (every & 4) != 0, (every & 8) != 0, isas)


def trait_at(truth: Truth, steps: NDArray[np.int64], trait: Trait) -> Bools:
    """At which of the steps a trait holds; one that no trace can show holds nowhere."""
    node, sites, outer = truth.node[steps], truth.sites, truth.outer
    match trait:
        case Trait.PROLOGUE:
            return sites.prologue[steps]
        case Trait.EPILOGUE:
            return sites.epilogue[steps]
        case Trait.FRAMELESS:
            return sites.frameless[steps]
        case Trait.FRAMELESS_CALLER:
            return outer.frameless_caller[node]
        case Trait.FP_REUSED:
            return outer.fp_reused[node] | _reuses_pointer(truth, node, steps)
        case Trait.TAIL_CALLED:
            return outer.tail_called[node] | _tail_called(truth, node, steps)
        case Trait.SIGNED:
            return outer.signed[node] | truth.signed[steps]
        case Trait.MIXED_ISA:
            mixed: Bools = (outer.isas[node] & ~(np.int8(1) << sites.isa[steps])) != 0
            return mixed
        case Trait.TRANSITION:
            return sites.transition[steps]
        case Trait.ROOT:
            return truth.activations.parent[node] < 0
        case Trait.CALLED:
            return truth.activations.parent[node] >= 0
        case Trait.LINK_LIVE:
            return _link(truth, steps)[0]
        case Trait.LINK_STALE:
            return _link(truth, steps)[1]
        case Trait.LEFTOVER:
            return truth.leftovers[steps]
        case Trait.CODE_POINTER:
            return truth.code_pointers[steps]
        case _:
            return np.zeros(len(steps), np.bool_)


def _link(truth: Truth, steps: NDArray[np.int64]) -> tuple[Bools, Bools]:
    """Where the link register holds the innermost activation's return address, and where something else but zero."""
    arch, node = truth.trace.arch, truth.node[steps]
    if arch.link is None:
        return np.zeros(len(steps), np.bool_), np.zeros(len(steps), np.bool_)
    value = truth.trace.column(arch.link)[steps]
    called = truth.activations.parent[node] >= 0
    live: Bools = called & (
        (value & np.uint64(arch.code_mask & ~arch.signature)) == truth.activations.return_address[node]
    )
    return live, (value != 0) & ~live


def _tail_called(truth: Truth, index: NDArray[np.int32], step: NDArray[np.int64]) -> Bools:
    """As `Truth` has it: the function at the step is not the one at the activation's first step."""
    pcs = truth.trace.pc
    different: Bools = _functions(truth, pcs[truth.activations.opened[index]]) != _functions(truth, pcs[step])
    return different


def _functions(truth: Truth, pcs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    distinct, place = np.unique(pcs, return_inverse=True)
    return np.array([truth.function(pc) for pc in distinct.tolist()], np.uint64)[place]


def _reuses_pointer(truth: Truth, index: NDArray[np.int32], step: NDArray[np.int64]) -> Bools:
    """As `Truth` has it: FP is neither its entry value nor an address in the activation's own frame."""
    activations, sites = truth.activations, truth.sites
    word = np.uint64(truth.trace.arch.word)
    end = np.where(activations.parent[index] >= 0, activations.cfa[index], activations.entry_sp[index] + word)
    pointer = sites.frame_pointer[step]
    inside = (truth.trace.sp[step] <= pointer) & (pointer < end)
    found: Bools = sites.moved[step] & ~inside
    return found
