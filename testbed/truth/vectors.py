"""Which callee-saved vector registers activations have changed: what a run in pieces carries from one to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.trace import Trace
from testbed.truth.model import Activations
from testbed.truth.transfers import Bools

FIRST_VECTOR = 64  # the DWARF number of the first floating-point register, on the ARMs, which alone preserve some


def vector_columns(arch: Arch) -> list[int]:
    """The columns of the callee-saved floating-point registers: their DWARF numbers come behind all others'."""
    return [arch.index[name] for name in arch.preserved if (arch.by_name[name].dwarf or 0) >= FIRST_VECTOR]


def changed_vectors(
    trace: Trace,
    activations: Activations,
    node: NDArray[np.int32],
    columns: Sequence[int],
    before: Bools,
    steps: slice = slice(None),
) -> Bools:
    """By activation and column: had the register another value than at the entry, at these steps or ``before``?"""
    values, whose = trace.registers[steps][:, columns], node[steps]
    entered = trace.registers[activations.opened][:, columns]
    there = np.zeros(len(activations), np.bool_)
    there[whose] = True
    if not columns or not ((values != values[:1]).any() or (entered[there] != values[:1]).any()):
        return before  # nearly everywhere
    found = before.copy()
    differ = values != entered[whose]
    for column in range(len(columns)):
        found[whose[differ[:, column]], column] = True
    return found
