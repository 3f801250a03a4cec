"""What is known between two windows of a long run, and the truth about one window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.truth.events import Bools, Stores
from testbed.truth.native.state import State
from testbed.truth.path import RowReading
from testbed.truth.transitions import OpenRun
from testbed.truth.truth import Truth
from testbed.truth.windows.known import Known
from testbed.truth.windows.window import Window


@dataclass(frozen=True, eq=False)
class WindowState:
    """What is known between two windows: what the rules know, and how rows are read until now. ``rows[i]`` are the
    registers at the call of row ``i`` and after it, ``sizes[i]`` the sizes of these two instructions."""

    state: State
    readings: Mapping[int, RowReading] = field(repr=False)
    rows: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    run: OpenRun | None
    signed: Bools = field(repr=False)  # by row: whether its return address is signed
    stored: NDArray[np.uint64] = field(repr=False)  # code addresses stored until now, as of `Transfers`
    ahead: Stores = field(repr=False)  # and since the last event

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class WindowTruth(Truth):
    """The truth about a window's trace; it holds for the rows of the window's own steps, as far as it is ``known``."""

    window: Window
    signatures: Bools = field(repr=False)
    known: Known = field(repr=False)

    @property
    def signed(self) -> Bools:
        return self.signatures

    @property
    def returns(self) -> NDArray[np.uint64]:
        return self.known.returns
