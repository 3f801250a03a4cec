"""What is known between two windows of a long run, and the truth about one window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.truth.model import Activations
from testbed.truth.native.standing import Standing
from testbed.truth.transfers import Bools
from testbed.truth.truth import Truth
from testbed.truth.windows.assumed import Assumed
from testbed.truth.windows.hindsight import Known
from testbed.truth.windows.segments import OpenSegment
from testbed.truth.windows.transitions import OpenRun
from testbed.truth.windows.window import Window

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WindowState:
    """What is known between two windows. ``rows[i]`` are the registers at the call of activation ``i`` and after it,
    ``sizes[i]`` the sizes of these two instructions."""

    standing: Standing
    rows: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    segments: Mapping[int, OpenSegment] = field(repr=False)  # by the step at which their activation was opened
    run: OpenRun | None
    signed: Bools = field(repr=False)  # by activation: whether its return address is signed
    stored: NDArray[np.uint64] = field(repr=False)  # code addresses stored until now, as of `Transfers`


@dataclass(frozen=True, eq=False)
class WindowTruth(Truth):
    """The truth about a window's trace; it holds for the rows of the window's own steps, as far as ``assumed`` does."""

    window: Window
    signatures: Bools = field(repr=False)
    known: Known = field(repr=False)
    assumed: Assumed = field(repr=False)

    @property
    def signed(self) -> Bools:
        return self.signatures

    @property
    def returns(self) -> NDArray[np.uint64]:
        return self.known.returns


def activations_of(
    everyone: Standing, members: Ints, number: NDArray[np.int32], opened: Ints, goes_on: Mapping[int, int]
) -> Activations:
    """Some activations and all their callers, under new numbers, opened at rows.

    ``goes_on`` says where some will go on that are not over yet, by the step at which they were opened.
    """
    all_of_them = everyone.activations()
    parent = all_of_them.parent[members]
    later = all_of_them.goes_on[members]
    if goes_on:
        for place, step in enumerate(everyone.opened[members].tolist()):
            later[place] = goes_on.get(step, later[place])
    return Activations(
        np.where(parent >= 0, number[parent], np.int32(-1)),
        all_of_them.return_address[members],
        all_of_them.cfa[members],
        all_of_them.entry_sp[members],
        opened,
        later,
    )
