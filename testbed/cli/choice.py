"""The choice from a catalogue, by patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from testbed.words.catalogue import matches
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest

T = TypeVar("T")


def matching(catalogue: Mapping[str, T], patterns: Iterable[str], noun: str) -> list[T]:
    """The values whose names match a pattern; all, without one. Raises UsageError where one matches nothing."""
    listed = tuple(patterns)
    for pattern in listed:
        if not any(matches(name, [pattern]) for name in catalogue):
            raise UsageError(f"no {noun} matches {pattern!r}; {nearest(pattern, catalogue)}")
    return [catalogue[name] for name in catalogue if matches(name, listed)]
