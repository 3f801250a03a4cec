"""Tables with an entry for every architecture, or for every instruction set, wherever they stand.

An architecture's own table (`testbed.arch.model.Arch`) holds what its ABI says. What only one room wants to know,
the numbers of an assembler or the layout of a dump, stands in that room, in a table of one of these two types::

    ABIS = PerArch[int | None]({"x86_64": 3, "arm64": 2, "arm32": None}, because={"arm32": "the format has no number"})
    ABIS[arch.name]

``tests/arch/test_tables.py`` finds every such table and asks it for every name. It also finds dictionaries keyed by
these names that are of neither type, so no table can be left out. An entry is None only for a reason that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar, TypeVar

T = TypeVar("T")


class _ByName(Mapping[str, T]):
    """A read-only mapping from names to one room's values. ``because`` says of each None why it is there."""

    __slots__ = ("_entries", "because")
    kind: ClassVar[str]

    def __init__(self, entries: Mapping[str, T], *, because: Mapping[str, str] = MappingProxyType({})) -> None:
        """Raises ValueError where the entries that are None are not those with a reason."""
        lacking = {name for name, value in entries.items() if value is None}
        if lacking != because.keys() or not all(because.values()):
            raise ValueError(f"None stands for {sorted(lacking)}, reasons are given for {sorted(because)}")
        self._entries = dict(entries)
        self.because = because

    def __getitem__(self, name: str) -> T:
        try:
            return self._entries[name]
        except KeyError:
            message = f"a table has no {self.kind} {name!r}, only {', '.join(self._entries)}"
            raise KeyError(f"{message}; CONTRIBUTING.md lists the tables") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._entries!r})"


class PerArch(_ByName[T]):
    """One room's value for every architecture, by `Arch.name`."""

    __slots__ = ()
    kind = "architecture"


class PerIsa(_ByName[T]):
    """One room's value for every instruction set of every architecture, by `Isa.name`."""

    __slots__ = ()
    kind = "instruction set"
