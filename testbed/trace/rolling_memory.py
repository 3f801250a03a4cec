"""Memory that is rolled forward through a journal: what a run's memory is at the start of each of its chunks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from testbed.trace.memory import Region, Regions, Writes
from testbed.trace.native import apply_writes


class RollingMemory:
    """Mapped memory at one instant of a run; ``apply`` moves on to a later one."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self._regions = list(Regions(regions))
        sizes = [len(region.data) for region in self._regions]
        self._starts = np.array([region.address for region in self._regions], np.uint64)
        self._ends = self._starts + np.array(sizes, np.uint64)
        self._places = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64) if sizes else np.empty(0, np.int64)
        self._octets = np.frombuffer(b"".join(region.data for region in self._regions), np.uint8).copy()

    def apply(self, writes: Writes) -> None:
        """Every write of a journal, in order."""
        if not len(writes) or not self._regions:
            return
        touched = np.zeros(len(self._regions), np.bool_)
        columns = tuple(map(np.ascontiguousarray, (writes.address, writes.size, writes.value)))
        apply_writes(self._starts, self._ends, self._places, self._octets, touched, *columns)
        for i in np.flatnonzero(touched).tolist():
            place, region = int(self._places[i]), self._regions[i]
            content = self._octets[place : place + len(region.data)].tobytes()
            self._regions[i] = Region(region.address, content)

    def regions(self) -> tuple[Region, ...]:
        """Memory as it is now; regions that nothing was written to are the same values as before."""
        return tuple(self._regions)
