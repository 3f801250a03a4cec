"""The strategies that a user names: ours, and those of real unwinders that are installed.

A referee is loaded, and looked for, only where a name or pattern asks for one of its strategies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from testbed.cli.choice import matching
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREE_OF, REFEREES, present
from testbed.words.catalogue import joined
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
    try:
        return matching(joined(UNWINDERS, present(patterns)), patterns, "strategy")
    except UsageError:
        return matching(all_strategies(), patterns, "strategy")  # says what there is


def strategy_named(name: str) -> Unwinder:
    """One strategy. Raises UsageError where there is none of that name, or it is a real unwinder that is missing."""
    if name in UNWINDERS:
        return UNWINDERS[name]
    _say_if_missing(name)
    if name not in REFEREE_OF:
        raise UsageError(f"no strategy {name!r}; {nearest(name, all_strategies())}")
    return present([name])[name]


def all_strategies() -> Mapping[str, Unwinder]:
    """Every strategy of ours, and every one of a real unwinder that is installed."""
    return joined(UNWINDERS, present())


def _say_if_missing(name: str) -> None:
    if name in REFEREE_OF and (referee := REFEREES[REFEREE_OF[name]]).find() is None:
        raise UsageError(f"{name} needs {referee.name}, which is not installed: {referee.package}")
