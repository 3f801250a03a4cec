"""The truth as columns: activations, and traits of many steps at once.

The same facts as `Truth.stack` and `Truth.traits` give, for whole traces; a test holds them to those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from testbed.traits import Trait
from testbed.truth.model import Activation
from testbed.truth.transfers import Bools

if TYPE_CHECKING:
    from testbed.truth.observe import Truth


@dataclass(frozen=True, eq=False)
class Activations:
    """One row per activation. A parent of -1: the bottom of a stack, which has no return address and no CFA (0)."""

    parent: NDArray[np.int32]
    return_address: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    entry_sp: NDArray[np.uint64]
    opened: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.parent)


def activation_columns(activations: Sequence[Activation]) -> Activations:
    """The columns of a sequence of activations."""
    count = len(activations)
    return Activations(
        np.fromiter((-1 if a.parent is None else a.parent for a in activations), np.int32, count),
        np.fromiter((a.return_address or 0 for a in activations), np.uint64, count),
        np.fromiter((a.cfa or 0 for a in activations), np.uint64, count),
        np.fromiter((a.entry_sp for a in activations), np.uint64, count),
        np.fromiter((a.opened for a in activations), np.int64, count),
    )


@dataclass(frozen=True, eq=False)
class OuterTraits:
    """What the activations further out add to every step of an activation; ``isas`` is a set of bits."""

    frameless_caller: Bools
    fp_reused: Bools
    isas: NDArray[np.int8]


def outer_traits(truth: Truth) -> OuterTraits:
    """For every activation; a parent always comes before its children."""
    columns, sites = truth.columns, truth.sites
    inner = np.flatnonzero(columns.parent >= 0)
    parent, call = columns.parent[inner], columns.opened[inner] - 1
    added = np.zeros(len(columns), np.int64)
    frameless = (columns.parent[parent] >= 0) & ~sites.moved[call]
    isa = np.int64(4) << sites.isa[call].astype(np.int64)
    added[inner] = frameless | _reuses_pointer(truth, parent, call).astype(np.int64) << 1 | isa
    bits, parents = added.tolist(), columns.parent.tolist()
    for index, outer in enumerate(parents):
        if outer >= 0:
            bits[index] |= bits[outer]
    every = np.array(bits, np.int64)
    return OuterTraits((every & 1) != 0, (every & 2) != 0, (every >> 2).astype(np.int8))


def traits_at(truth: Truth, steps: NDArray[np.int64]) -> Mapping[Trait, Bools]:
    """For each trait that a trace can show, at which of the steps it holds."""
    sites, outer = truth.sites, truth.outer
    node = truth.node[steps]
    isa = np.int8(1) << sites.isa[steps]
    return {
        Trait.PROLOGUE: sites.prologue[steps],
        Trait.EPILOGUE: sites.epilogue[steps],
        Trait.FRAMELESS: sites.frameless[steps],
        Trait.FRAMELESS_CALLER: outer.frameless_caller[node],
        Trait.FP_REUSED: outer.fp_reused[node] | _reuses_pointer(truth, node, steps),
        Trait.MIXED_ISA: (outer.isas[node] & ~isa) != 0,
        Trait.TRANSITION: sites.transition[steps],
    }


def _reuses_pointer(truth: Truth, index: NDArray[np.int32], step: NDArray[np.int64]) -> Bools:
    """As `Truth` has it: FP is neither its entry value nor an address in the activation's own frame."""
    columns, sites = truth.columns, truth.sites
    word = np.uint64(truth.trace.arch.word)
    end = np.where(columns.parent[index] >= 0, columns.cfa[index], columns.entry_sp[index] + word)
    pointer = sites.frame_pointer[step]
    inside = (truth.trace.sp[step] <= pointer) & (pointer < end)
    found: Bools = sites.moved[step] & ~inside
    return found
