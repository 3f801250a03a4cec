"""The strategies that a user names: ours, and those of real unwinders that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from testbed.cli.terminal import matching
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES, present
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest
from unwinders import UNWINDERS


def strategies_named(patterns: Iterable[str]) -> list[Unwinder]:
    """The strategies that patterns choose; without a pattern, ours. Raises UsageError where one matches nothing."""
    patterns = list(patterns)
    if not patterns:
        return list(UNWINDERS.values())
    for pattern in patterns:
        _say_if_missing(pattern)
    return matching(all_strategies(), patterns, "strategy")


def strategy_named(name: str) -> Unwinder:
    """One strategy. Raises UsageError where there is none of that name, or it is a real unwinder that is missing."""
    _say_if_missing(name)
    known = all_strategies()
    if name not in known:
        raise UsageError(f"no strategy {name!r}; {nearest(name, known)}")
    return known[name]


def all_strategies() -> Mapping[str, Unwinder]:
    return {**UNWINDERS, **present()}


def _say_if_missing(name: str) -> None:
    for referee in REFEREES.values():
        if any(unwinder.name == name for unwinder in referee.unwinders) and referee.find() is None:
            raise UsageError(f"{name} needs {referee.name}, which is not installed: {referee.package}")
