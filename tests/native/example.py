"""A compiled function, and what it takes."""

from __future__ import annotations

from typing import NamedTuple

from testbed.native.compiled import compiled


class Pair(NamedTuple):
    first: float
    second: float


@compiled()
def difference(pair: Pair) -> float:
    return pair.first - pair.second
