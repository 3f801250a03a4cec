"""What is asked of code addresses, each once: a long run is judged in pieces, and all of them execute the same code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.trace.distinct_rows import are_among, distinct


@dataclass(eq=False)
class AskedOnce:
    """A number for each address that was asked for until now; ``ask`` gives that of a new one."""

    ask: Callable[[int], int]
    _known: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))  # in order
    _numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # of each

    def at(self, addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of each address."""
        new = distinct(addresses[~are_among(addresses, self._known)])
        if len(new):
            known = np.concatenate((self._known, new))
            numbers = np.concatenate((self._numbers, np.array([self.ask(at) for at in new.tolist()], np.int64)))
            order = np.argsort(known)
            self._known, self._numbers = known[order], numbers[order]
        found: NDArray[np.int64] = self._numbers[np.searchsorted(self._known, addresses)]
        return found
