"""What the first look at a window takes down for the second one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.function_facts import executed, framed_pcs, moving_pcs, saving_pcs
from testbed.truth.links import kept_links
from testbed.truth.model import Activations
from testbed.truth.native.columns import GOES_ON, LED, PARENT, PROMISED, RETURN, RETURNED
from testbed.truth.native.follow import Walked
from testbed.truth.windows.hindsight import Known

Words = NDArray[np.uint64]


class Told(NamedTuple):
    """A window's trace, who executes each of its rows, which rows are its own ``steps``, and FP."""

    trace: Trace
    activations: Activations
    node: NDArray[np.int32]
    steps: slice
    pointer: Words


def note(known: Known, walked: Walked, old: int, told: Told, end: int) -> None:
    """Take down what the next pass has to know beforehand. The first ``old`` activations are of earlier windows."""
    standing, trace, steps = walked.standing, told.trace, told.steps
    known.returned |= standing.sites(RETURNED)
    known.thrown |= standing.thrown
    known.led |= standing.sites(LED)
    known.no_landings |= standing.no_landings
    known.switches |= standing.switches
    known.promised |= standing.sites(PROMISED)
    known.handed |= standing.handed
    known.arrived |= walked.arrived
    inner = standing.links[:, PARENT] >= 0
    known.returns = with_more(known.returns, np.unique(standing.addresses[inner, RETURN]))
    known.kept |= frozenset(kept_links(trace, steps).tolist())
    known.executed = _with_more_code(known.executed, executed(trace, steps))
    whose = (trace, told.activations, told.node)
    known.framed = with_more(known.framed, framed_pcs(*whose, steps))
    known.moving = with_more(known.moving, moving_pcs(*whose, told.pointer, steps))
    known.saving = with_more(known.saving, saving_pcs(*whose, trace.arch.preserved, steps))
    link = (trace.arch.link,) if trace.arch.link else ()
    known.return_saving = with_more(known.return_saving, saving_pcs(*whose, link, steps))
    goes_on = standing.addresses[:old, GOES_ON]
    for index in np.flatnonzero(goes_on).tolist():
        opened, address = int(standing.opened[index]), int(goes_on[index])
        if known.goes_on.get(opened) != address:
            known.goes_on[opened] = address
            known.revised.append((opened, end))


def with_more(known: Words, more: Words) -> Words:
    """Both, in order; the very same array where there is nothing new."""
    if len(known):
        more = more[known[np.minimum(np.searchsorted(known, more), len(known) - 1)] != more]
    if not len(more):
        return known
    return np.union1d(known, more)


def _with_more_code(known: Words, more: Words) -> Words:
    """The same of instructions: address and size."""
    ours, theirs = (each[:, 0] << np.uint64(8) | each[:, 1] for each in (known, more))
    both = with_more(ours, theirs)
    return known if both is ours else np.stack((both >> np.uint64(8), both & np.uint64(0xFF)), axis=1)
