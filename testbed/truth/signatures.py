"""Steps at which an activation's return address is kept with a signature: an address is what it is no more.

A function that authenticates its return signs the link register first, keeps that value, and takes the signature off
again before (or while) it returns. So the innermost activation's return address

* is signed from the step at which the link register holds it with other bits than its own in `Arch.signature`,
* until a step at which the register holds it as it is, where the step before, of the same activation, had it signed.

A register that merely holds the same address, as after a recursive call's return, changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.events import Bools
from testbed.truth.model import Activations


def find_signed(
    trace: Trace, activations: Activations, node: NDArray[np.int32], before: Bools | None = None, start: int = 0
) -> Bools:
    """For each step: is the return address of the innermost activation signed?

    Of a window of a run, ``before`` says it of each activation when the window begins, which is at row ``start``.
    """
    arch = trace.arch
    nowhere = np.zeros(len(node), np.bool_)
    if arch.link is None or not arch.signature or len(node) == 0:
        return nowhere
    link = trace.column(arch.link) & np.uint64(arch.code_mask)
    address = activations.return_address[node]
    called = activations.parent[node] >= 0
    signed = called & (link != address) & (link & ~np.uint64(arch.signature) == address)
    if before is None:
        before = np.zeros(len(activations), np.bool_)
    if not signed.any() and not before.any():
        return nowhere
    order = np.argsort(node, kind="stable")  # by activation, then time
    is_first = np.diff(node[order], prepend=-1) != 0
    signed, plain = signed[order], (called & (link == address))[order]
    earlier = order < start
    follows = np.diff(order, prepend=-2) == 1  # no call between
    taken_off = plain & ~is_first & follows & np.roll(signed, 1)
    places = np.arange(len(order))
    last = np.maximum.accumulate(np.where(signed | taken_off | is_first | earlier, places, 0))
    nowhere[order] = np.where(earlier, before[node[order]], signed)[last]
    return nowhere
