"""Everything that an image's debug information says about code, looked up by link-time address."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from testbed.image.debug.cursor import account_of, has
from testbed.image.model import Image, once_per_image
from testbed.words.errors import BudgetExceeded, DebugInfoError

if TYPE_CHECKING:  # the readers are loaded for an image that has something to read
    from testbed.image.debug.call_sites import CallSite, CallTarget
    from testbed.image.debug.functions import Function, Inlined
    from testbed.image.debug.lines import Line, LineTable

Key = TypeVar("Key")
MOST_NESTED = 1 << 12  # ranges of functions inside another one that are looked through: more is damage


@dataclass(frozen=True, eq=False)
class DebugInfo:
    """Functions and line tables of one image; ``problems`` are what could not be read and is therefore missing."""

    image: Image
    functions: tuple[Function, ...] = field(repr=False)
    tables: tuple[LineTable, ...] = field(repr=False)
    problems: tuple[DebugInfoError | BudgetExceeded, ...] = ()

    def function_at(self, address: int) -> Function | None:
        """The function whose ranges cover an address; of several, the one whose range begins last."""
        i = bisect_right(self._starts, address) - 1
        last = i - MOST_NESTED
        while i >= max(0, last) and self._reach[i] > address:
            _, end, function = self._ranges[i]
            if address < end:
                return function
            i -= 1
        return None

    def line_at(self, address: int) -> Line | None:
        """The line that an address was made from; None where no table covers it."""
        return next((line for table in self.tables if (line := table.at(address)) is not None), None)

    def begins_line(self, address: int) -> bool:
        """True where an address is the first one that was made from its line."""
        return any(table.begins(address) for table in self.tables)

    def inlined_at(self, address: int) -> tuple[Inlined, ...]:
        """The inlined calls that an address lies in, innermost first."""
        function = self.function_at(address)
        return function.inlined_at(address) if function is not None else ()

    def call_returning_to(self, address: int) -> CallSite | None:
        """The call whose return address this is, or None."""
        return self._returns.get(address)

    def function_of(self, target: CallTarget) -> Function | None:
        """The function with code that a call site names; None where no or more than one fits."""
        if target.address is not None:
            found = self._by_entry.get(target.address, [])
        else:
            found = []
            for function in (f for offset in target.origins for f in self._by_origin.get(offset, ())):
                if function not in found:
                    found.append(function)
                if len(found) > 1:
                    return None
            if not found and target.declared:
                found = self._by_name.get(target.name) or self._by_alias(target.name)
        return found[0] if len(found) == 1 else None

    def _by_alias(self, name: str) -> list[Function]:
        """The functions that begin where the symbol of another name for them lies: debug information has one name."""
        entries = self._entries.get(name, set())
        return self._by_entry.get(next(iter(entries)), []) if len(entries) == 1 else []

    @cached_property
    def _entries(self) -> Mapping[str, set[int]]:
        out: dict[str, set[int]] = {}
        for symbol in self.image.symbols:
            if symbol.is_function:
                out.setdefault(symbol.name, set()).add(symbol.address)
        return out

    @cached_property
    def _by_entry(self) -> Mapping[int, list[Function]]:
        return _grouped((function.entry, function) for function in self.functions)

    @cached_property
    def _by_origin(self) -> Mapping[int, list[Function]]:
        return _grouped((offset, function) for function in self.functions for offset in function.origins)

    @cached_property
    def _by_name(self) -> Mapping[str, list[Function]]:
        return _grouped((function.linkage_name or function.name, function) for function in self.functions)

    @cached_property
    def _ranges(self) -> list[tuple[int, int, Function]]:
        listed = [(start, end, function) for function in self.functions for start, end in function.ranges]
        return sorted(listed, key=lambda one: (one[0], -one[1]))

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _, _ in self._ranges]

    @cached_property
    def _reach(self) -> list[int]:
        """How far the ranges up to each one reach: where looking further back ends."""
        out: list[int] = []
        for _, end, _ in self._ranges:
            out.append(max(end, out[-1]) if out else end)
        return out

    @cached_property
    def _returns(self) -> Mapping[int, CallSite]:
        sites = (site for function in self.functions for site in function.call_sites if not site.tail)
        return {site.return_pc: site for site in sites if site.return_pc is not None}


def _grouped(pairs: Iterable[tuple[Key, Function]]) -> dict[Key, list[Function]]:
    out: dict[Key, list[Function]] = {}
    for key, function in pairs:
        out.setdefault(key, []).append(function)
    return out


@once_per_image
def debug_info(image: Image) -> DebugInfo:
    """The debug information of an image, read once; without any, everything in it is empty. Raises nothing."""
    return _read(image) if has(image, ".debug_info") else DebugInfo(image, (), ())


@once_per_image
def says_conventions(image: Image) -> bool:
    """True where debug information can say how a function is called, or that OCaml's compiler made it.

    Asked before any entry is read, which takes seconds for a large file.
    """
    from testbed.image.debug.dwarf_numbers import Attribute, Tag
    from testbed.image.debug.entries import declares

    places = (image.sections.get(name) for name in (".debug_str", ".debug_info", ".debug_line_str"))
    of_ocaml = any(section is not None and b"ocamlopt" in section.data for section in places)
    return of_ocaml or declares(image, Tag.SUBPROGRAM, Attribute.CALLING_CONVENTION)


def _read(image: Image) -> DebugInfo:
    functions: list[Function] = []
    tables: list[LineTable] = []
    problems: list[DebugInfoError | BudgetExceeded] = []
    try:
        with account_of(image).working():
            _read_all(image, functions, tables, problems)
    except BudgetExceeded as error:
        problems.append(error)
    return DebugInfo(image, tuple(functions), tuple(tables), tuple(problems))


def _read_all(
    image: Image, functions: list[Function], tables: list[LineTable], problems: list[DebugInfoError | BudgetExceeded]
) -> None:
    """All that can be read. Raises BudgetExceeded where there is more than its file may cost."""
    from testbed.image.debug.entries import read_units
    from testbed.image.debug.functions import functions_of
    from testbed.image.debug.lines import LineTable, read_lines

    units, found = read_units(image)
    problems += found
    entries = {offset: entry for unit in units for offset, entry in unit.entries.items()}
    for unit in units:
        table = LineTable((), {})
        try:
            table = read_lines(unit)
        except DebugInfoError as error:
            problems.append(error)
        if table.rows:
            tables.append(table)
        for one in functions_of(unit, entries, dict(table.files)):
            if isinstance(one, DebugInfoError):
                problems.append(one)
            else:
                functions.append(one)
