"""Catalogues: what there is, by name, in an order that counts; a value is made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from testbed.words.errors import UsageError

# What the four catalogues share: telling somebody who mistyped a name which names exist.

_FEW = 4  # names that are all told beside a guess
_MOST = 30  # names that are listed where none is close


def nearest(name: str, names: Iterable[str]) -> str:
    """``did you mean ...?`` with the closest names; where nothing is close, or there are few, all of them, or of many
    the first ones.
    """
    known = list(names)
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        guess = f"did you mean {', '.join(close)}?"
        return f"{guess} there are: {', '.join(known)}" if len(known) <= _FEW else guess
    if len(known) > _MOST:
        return f"there are {len(known)}, such as {', '.join(known[:3])}"
    return f"there are: {', '.join(known)}"


T = TypeVar("T")


class Catalogue(Mapping[str, T]):
    """An ordered, read-only mapping from names to values, each made by its function at the first look at it.

    Names cost nothing: iteration, ``in`` and ``len`` make no value. ``values()`` and ``items()`` make every value that
    they come to. A value is made once; what its function raises is raised, and the next look tries again.
    """

    def __init__(self, makers: Mapping[str, Callable[[], T]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return f"<catalogue of {', '.join(self)}>"


def joined(*catalogues: Mapping[str, T]) -> Catalogue[T]:
    """One catalogue of several, in their order; of equal names the last one's value counts."""
    return Catalogue({name: partial(each.__getitem__, name) for each in catalogues for name in each})


def value_of(module: str, name: str) -> Any:
    """A module's value, by names: the module is imported here. For the functions of a `Catalogue`."""
    return getattr(import_module(module), name)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """True where ``name`` matches one of the glob patterns, or there are none."""
    listed = tuple(patterns)
    return not listed or any(fnmatchcase(name, pattern) for pattern in listed)


def matching(catalogue: Mapping[str, T], patterns: Iterable[str], noun: str) -> list[T]:
    """The values whose names match a pattern; all, without one. Raises UsageError where one matches nothing."""
    listed = tuple(patterns)
    for pattern in listed:
        if not any(matches(name, [pattern]) for name in catalogue):
            raise UsageError(f"no {noun} matches {pattern!r}; {nearest(pattern, catalogue)}")
    return [catalogue[name] for name in catalogue if matches(name, listed)]
