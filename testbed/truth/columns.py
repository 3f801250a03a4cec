"""The truth as columns: traits of many steps at once.

The same facts as `Truth.stack` and `Truth.traits` give, for whole traces; a test holds them to those.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.truth.outer_traits import reuses_pointer, tail_called
from testbed.truth.transfers import Bools
from testbed.truth.truth import Truth
from testbed.words.traits import Trait


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
            return outer.fp_reused[node] | reuses_pointer(truth.trace, truth.activations, sites, node, steps)
        case Trait.TAIL_CALLED:
            return outer.tail_called[node] | tail_called(truth.trace, truth.activations, truth.function, node, steps)
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
