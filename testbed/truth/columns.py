"""The truth as columns: activations, and traits of many steps at once.

The same facts as `Truth.stack` and `Truth.traits` give, for whole traces; a test holds them to those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from testbed.traits import Trait
from testbed.truth.model import Activation
from testbed.truth.transfers import Bools

if TYPE_CHECKING:
    from testbed.truth.observe import Truth


@dataclass(frozen=True, eq=False)
class Activations(Sequence[Activation]):
    """One row per activation. A parent of -1: the bottom of a stack, which has no return address and no CFA (0).

    As a sequence it makes each activation when it is asked for.
    """

    parent: NDArray[np.int32]
    return_address: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    entry_sp: NDArray[np.uint64]
    opened: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.parent)

    @overload
    def __getitem__(self, index: int) -> Activation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Activation, ...]: ...
    def __getitem__(self, index: int | slice) -> Activation | tuple[Activation, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        index = range(len(self))[index]
        parent, entry_sp, opened = int(self.parent[index]), int(self.entry_sp[index]), int(self.opened[index])
        if parent < 0:
            return Activation(index, None, None, entry_sp, None, opened)
        return Activation(index, parent, int(self.return_address[index]), entry_sp, int(self.cfa[index]), opened)


def activation_columns(activations: Sequence[Activation]) -> Activations:
    """The columns of a sequence of activations."""
    if isinstance(activations, Activations):
        return activations
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
    tail_called: Bools
    isas: NDArray[np.int8]


def outer_traits(truth: Truth) -> OuterTraits:
    """For every activation; a parent always comes before its children."""
    columns, sites = truth.columns, truth.sites
    inner = np.flatnonzero(columns.parent >= 0)
    parent, call = columns.parent[inner], columns.opened[inner] - 1
    added = np.zeros(len(columns), np.int64)
    frameless = (columns.parent[parent] >= 0) & ~sites.moved[call]
    reused = _reuses_pointer(truth, parent, call).astype(np.int64)
    tail_called = _tail_called(truth, parent, call).astype(np.int64)
    added[inner] = frameless | reused << 1 | tail_called << 2 | np.int64(8) << sites.isa[call].astype(np.int64)
    bits, parents = added.tolist(), columns.parent.tolist()
    for index, outer in enumerate(parents):
        if outer >= 0:
            bits[index] |= bits[outer]
    every = np.array(bits, np.int64)
    return OuterTraits((every & 1) != 0, (every & 2) != 0, (every & 4) != 0, (every >> 3).astype(np.int8))


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
        case Trait.MIXED_ISA:
            mixed: Bools = (outer.isas[node] & ~(np.int8(1) << sites.isa[steps])) != 0
            return mixed
        case Trait.TRANSITION:
            return sites.transition[steps]
        case Trait.ROOT:
            return truth.columns.parent[node] < 0
        case Trait.CALLED:
            return truth.columns.parent[node] >= 0
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
    called = truth.columns.parent[node] >= 0
    live: Bools = called & ((value & np.uint64(arch.code_mask)) == truth.columns.return_address[node])
    return live, (value != 0) & ~live


def _tail_called(truth: Truth, index: NDArray[np.int32], step: NDArray[np.int64]) -> Bools:
    """As `Truth` has it: the function at the step is not the one at the activation's first step."""
    pcs = truth.trace.pc
    different: Bools = _functions(truth, pcs[truth.columns.opened[index]]) != _functions(truth, pcs[step])
    return different


def _functions(truth: Truth, pcs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    distinct, place = np.unique(pcs, return_inverse=True)
    return np.array([truth.function(pc) for pc in distinct.tolist()], np.uint64)[place]


def _reuses_pointer(truth: Truth, index: NDArray[np.int32], step: NDArray[np.int64]) -> Bools:
    """As `Truth` has it: FP is neither its entry value nor an address in the activation's own frame."""
    columns, sites = truth.columns, truth.sites
    word = np.uint64(truth.trace.arch.word)
    end = np.where(columns.parent[index] >= 0, columns.cfa[index], columns.entry_sp[index] + word)
    pointer = sites.frame_pointer[step]
    inside = (truth.trace.sp[step] <= pointer) & (pointer < end)
    found: Bools = sites.moved[step] & ~inside
    return found
