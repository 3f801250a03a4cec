"""Memory that is rolled forward through a journal: what a run's memory is at the start of each of its chunks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from testbed.native.compiled import sooner
from testbed.trace.memory import Region, Regions, Writes
from testbed.trace.native import PAGE, apply_writes
from testbed.trace.sparse import copy_used, pages, sparse_bytes


class RollingMemory:
    """Mapped memory at one instant of a run; ``apply`` moves on to a later one."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self._regions = list(Regions(regions))
        ends = np.cumsum([0, *(PAGE * pages(len(region.data)) for region in self._regions)])
        self._starts = np.array([region.address for region in self._regions], np.uint64)
        self._ends = np.array([region.end for region in self._regions], np.uint64)
        self._places = ends[:-1].astype(np.int64)
        self._octets = np.zeros(int(ends[-1]), np.uint8)
        self._used = np.zeros(int(ends[-1]) // PAGE, np.bool_)
        self._touched = np.zeros(len(self._regions), np.bool_)
        for region, place in zip(self._regions, self._places.tolist(), strict=True):
            copy_used(region.data, region.used, self._octets[place : place + len(region.data)])
            self._used[place // PAGE :][: len(region.used)] = region.used

    def apply(self, writes: Writes) -> None:
        """Every write of a journal, in order."""
        if not len(writes) or not self._regions:
            return
        columns = tuple(map(np.ascontiguousarray, (writes.address, writes.size, writes.value)))
        where = (self._starts, self._ends, self._places)
        sooner(apply_writes, len(writes))(*where, self._octets, self._touched, self._used, *columns)

    def regions(self) -> tuple[Region, ...]:
        """Memory as it is now; regions that nothing was written to are the same values as before."""
        for i in np.flatnonzero(self._touched).tolist():
            region, place = self._regions[i], int(self._places[i])
            used = self._used[place // PAGE :][: pages(len(region.data))]
            self._regions[i] = Region(
                region.address, sparse_bytes(self._octets[place : place + len(region.data)], used)
            )
        self._touched[:] = False
        return tuple(self._regions)
