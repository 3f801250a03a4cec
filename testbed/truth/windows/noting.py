"""What the first look at a window takes down for the second one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.links import kept_links
from testbed.truth.native.columns import GOES_ON, LED, PARENT, PROMISED, RETURN, RETURNED
from testbed.truth.native.follow import Walked
from testbed.truth.windows.hindsight import Known

Words = NDArray[np.uint64]


def note(known: Known, walked: Walked, old: int, trace: Trace, steps: slice, end: int) -> None:
    """Take down what the next pass has to know beforehand. The first ``old`` activations are of earlier windows.

    ``steps`` are the rows of the window's own ones, before the run's step ``end``.
    """
    standing = walked.standing
    known.returned |= standing.sites(RETURNED)
    known.thrown |= standing.thrown
    known.led |= standing.sites(LED)
    known.no_landings |= standing.no_landings
    known.switches |= standing.switches
    known.promised |= standing.sites(PROMISED)
    known.handed |= standing.handed
    known.arrived |= walked.arrived
    inner = standing.links[:, PARENT] >= 0
    known.returns = _with_more(known.returns, np.unique(standing.addresses[inner, RETURN]))
    known.kept |= frozenset(kept_links(trace, steps).tolist())
    goes_on = standing.addresses[:old, GOES_ON]
    for index in np.flatnonzero(goes_on).tolist():
        opened, address = int(standing.opened[index]), int(goes_on[index])
        if known.goes_on.get(opened) != address:
            known.goes_on[opened] = address
            known.revised.append((opened, end))


def _with_more(known: Words, more: Words) -> Words:
    """Both, in order; the very same array where there is nothing new."""
    if len(known):
        more = more[known[np.minimum(np.searchsorted(known, more), len(known) - 1)] != more]
    return np.union1d(known, more) if len(more) else known
