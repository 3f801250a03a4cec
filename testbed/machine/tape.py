"""What a recorder hands back, and what a recorder is. Nothing above this file knows which one ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from testbed.machine.start import Machine
from testbed.machine.stops import Fault
from testbed.trace import Exited, Writes


@dataclass(frozen=True, eq=False)
class Tape:
    """A raw recording, in the columns of `testbed.trace.Trace`; values are cut to their register's width.

    Every instruction whose execution began has a row, the one that faulted included; an instruction at which
    the step budget was used up has none. A row of size 0 is the state that a signal interrupted; ``resumed`` are the
    steps before which ``rt_sigreturn`` gave a state back.
    """

    registers: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    ending: Exited | Fault
    resumed: tuple[int, ...] = ()


class Recorder(Protocol):
    """Runs a machine to its end, for at most ``budget`` steps, and records it."""

    def __call__(self, machine: Machine, budget: int) -> Tape: ...
