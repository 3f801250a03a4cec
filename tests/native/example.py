"""A compiled function, and what it takes."""

from typing import NamedTuple

from testbed.native.compiled import compiled


class Pair(NamedTuple):
    first: float
    second: float


@compiled()
def difference(pair: Pair) -> float:
    return pair.first - pair.second


@compiled()
def rest(number: int, by: Pair, steps: int) -> int:
    """Too much to be part of each of its callers."""
    for k in range(steps):
        number = (number * 31 + k) % 1009 if number & 1 else (number * 17 + int(by.first)) % 2003
        number = (number // 3 + int(by.second)) % 997 if number % 7 == k % 5 else (number * 13) % 1511
        number = (number ^ 5 * k) % 3001 if number % 11 > 4 else (number + 29 * k) % 509
    return number


@compiled()
def rests(by: Pair) -> int:
    return rest(rest(1, by, 3), by, rest(2, by, rest(5, by, 7)))
