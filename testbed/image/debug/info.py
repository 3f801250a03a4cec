"""Everything that an image's debug information says about code, looked up by link-time address.

Reading all of a large library takes seconds. So a unit is read when an address is asked for that is in its code, by its
first entry. Units that give no ranges are asked of every address, but for partial ones, which hold what others share.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from testbed.image.debug.forms import account_of, has
from testbed.image.model import Image, once_per_image
from testbed.words.errors import BudgetExceeded, DebugInfoError

if TYPE_CHECKING:  # the readers are loaded for an image that has something to read
    from testbed.image.debug.entries import CompilationUnit, DebugEntry
    from testbed.image.debug.functions import CallSite, CallTarget, Function, Inlined
    from testbed.image.debug.lines import Line, LineTable

Key = TypeVar("Key")
Value = TypeVar("Value")
MOST_NESTED = 1 << 12  # ranges inside another one that are looked through: more is damage


class RangeIndex(Generic[Value]):
    """Values by the address ranges ``[start, end)`` that they cover."""

    def __init__(self, ranges: Iterable[tuple[int, int, Value]]) -> None:
        self._ranges = sorted(ranges, key=lambda one: (one[0], -one[1]))
        self._starts = [start for start, _, _ in self._ranges]
        self._reach: list[int] = []  # how far the ranges up to each one reach: where looking further back ends
        for _, end, _ in self._ranges:
            self._reach.append(max(end, self._reach[-1]) if self._reach else end)

    def covering(self, address: int) -> Iterator[tuple[int, Value]]:
        """The values that cover an address, each with its range's start: the one that begins last comes first."""
        i = bisect_right(self._starts, address) - 1
        last = i - MOST_NESTED
        while i >= max(0, last) and self._reach[i] > address:
            start, end, value = self._ranges[i]
            if address < end:
                yield start, value
            i -= 1


@dataclass(frozen=True, eq=False)
class UnitCode:
    """What one unit says about code."""

    functions: tuple[Function, ...]
    table: LineTable

    @cached_property
    def by_address(self) -> RangeIndex[Function]:
        return RangeIndex((start, end, function) for function in self.functions for start, end in function.ranges)

    @cached_property
    def returns(self) -> Mapping[int, CallSite]:
        """The calls by their return addresses."""
        sites = (site for function in self.functions for site in function.call_sites if not site.tail)
        return {site.return_pc: site for site in sites if site.return_pc is not None}


@dataclass(frozen=True, eq=False)
class DebugInfo:
    """Functions and line tables of one image, read when they are asked for.

    ``read`` are the units that were, ``met`` is what could not be read so far and is therefore missing.
    """

    image: Image
    units: tuple[CompilationUnit, ...] = field(repr=False)
    met: list[DebugInfoError | BudgetExceeded] = field(default_factory=list)
    read: dict[CompilationUnit, UnitCode] = field(default_factory=dict, repr=False)
    _entries: dict[CompilationUnit, Mapping[int, DebugEntry]] = field(default_factory=dict, repr=False)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions of all units: reads them all."""
        return tuple(function for code in self._whole() for function in code.functions)

    @property
    def tables(self) -> tuple[LineTable, ...]:
        """The line tables of all units that have one: reads them all."""
        return tuple(code.table for code in self._whole() if code.table.rows)

    @property
    def problems(self) -> tuple[DebugInfoError | BudgetExceeded, ...]:
        """What could not be read of all units: reads them all."""
        self._whole()
        return tuple(self.met)

    def function_at(self, address: int) -> Function | None:
        """The function whose ranges cover an address; of several, the one whose range begins last."""
        found = (next(code.by_address.covering(address), None) for code in self._at(address))
        best = max(filter(None, found), key=lambda one: one[0], default=None)
        return best[1] if best is not None else None

    def line_at(self, address: int) -> Line | None:
        """The line that an address was made from; None where no table covers it."""
        return next((line for code in self._at(address) if (line := code.table.at(address)) is not None), None)

    def begins_line(self, address: int) -> bool:
        """True where an address is the first one that was made from its line."""
        return any(code.table.begins(address) for code in self._at(address))

    def inlined_at(self, address: int) -> tuple[Inlined, ...]:
        """The inlined calls that an address lies in, innermost first."""
        function = self.function_at(address)
        return function.inlined_at(address) if function is not None else ()

    def call_returning_to(self, address: int) -> CallSite | None:
        """The call whose return address this is, or None."""
        return next((code.returns[address] for code in self._at(address - 1) if address in code.returns), None)

    def function_of(self, target: CallTarget) -> Function | None:
        """The function with code that a call site names; None where no or more than one fits."""
        if target.address is not None:
            found = self._beginning_at(target.address)
        else:
            found = []
            for function in (f for offset in target.origins for f in self._by_origin.get(offset, ())):
                if function not in found:
                    found.append(function)
                if len(found) > 1:
                    return None
            if not found and target.declared:
                found = self._by_symbol(target.name) or self._by_name.get(target.name, [])
        return found[0] if len(found) == 1 else None

    def _beginning_at(self, address: int) -> list[Function]:
        return [function for code in self._at(address) for function in code.functions if function.entry == address]

    def _by_symbol(self, name: str) -> list[Function]:
        """The functions at the one symbol of a name; of several those that debug information calls so."""
        entries = self._symbols.get(name, set())
        found = self._beginning_at(next(iter(entries))) if len(entries) == 1 else []
        return [function for function in found if name in (function.linkage_name, function.name)] or found

    @cached_property
    def _symbols(self) -> Mapping[str, set[int]]:
        out: dict[str, set[int]] = {}
        for symbol in self.image.symbols:
            if symbol.is_function:
                out.setdefault(symbol.name, set()).add(symbol.address)
        return out

    @cached_property
    def _by_origin(self) -> Mapping[int, list[Function]]:
        return _grouped((offset, function) for function in self.functions for offset in function.origins)

    @cached_property
    def _by_name(self) -> Mapping[str, list[Function]]:
        return _grouped((function.linkage_name or function.name, function) for function in self.functions)

    def _whole(self) -> tuple[UnitCode, ...]:
        every = tuple(map(self._code, self.units))
        self._entries.clear()
        return every

    def _at(self, address: int) -> list[UnitCode]:
        """What the units say that can have an address."""
        if not self.units:
            return []
        covering = dict.fromkeys(unit for _, unit in self._units_by_address.covering(address))
        return [*map(self._code, covering), *self._without_ranges]

    @cached_property
    def _units_by_address(self) -> RangeIndex[CompilationUnit]:
        return RangeIndex((start, end, unit) for unit, said in self._ranges.items() for start, end in said)

    @cached_property
    def _without_ranges(self) -> list[UnitCode]:
        from testbed.image.debug.forms import Tag

        whole = (unit for unit in self.units if unit.top is None or unit.top.tag != Tag.PARTIAL_UNIT)
        read = (self._code(unit) for unit in whole if not self._ranges[unit])
        return [code for code in read if code.functions or code.table.rows]

    @cached_property
    def _ranges(self) -> Mapping[CompilationUnit, tuple[tuple[int, int], ...]]:
        """The ranges of code that each unit says to have; none of a unit where that is damaged."""
        from testbed.image.debug.functions import ranges_of

        out: dict[CompilationUnit, tuple[tuple[int, int], ...]] = dict.fromkeys(self.units, ())
        for unit in self.units:
            with suppress(DebugInfoError, BudgetExceeded), account_of(self.image).working():
                out[unit] = ranges_of(unit.top) if unit.top is not None else ()
        return out

    def _code(self, unit: CompilationUnit) -> UnitCode:
        """What a unit says, read once; nothing where reading has cost too much."""
        from testbed.image.debug.lines import LineTable

        if unit not in self.read:
            self.read[unit] = UnitCode((), LineTable((), {}))
            try:
                with account_of(self.image).working():
                    self.read[unit] = self._code_of(unit)
            except BudgetExceeded as error:
                if not any(isinstance(one, BudgetExceeded) for one in self.met):
                    self.met.append(error)
        return self.read[unit]

    def _code_of(self, unit: CompilationUnit) -> UnitCode:
        from testbed.image.debug.functions import functions_of
        from testbed.image.debug.lines import LineTable, read_lines

        table = LineTable((), {})
        try:
            table = read_lines(unit)
        except DebugInfoError as error:
            self.met.append(error)
        found = list(functions_of(unit, self._entries_of(unit), self._entry, table.files))
        self.met.extend(one for one in found if isinstance(one, DebugInfoError))
        return UnitCode(tuple(one for one in found if not isinstance(one, DebugInfoError)), table)

    def _entries_of(self, unit: CompilationUnit) -> Mapping[int, DebugEntry]:
        """All entries of a unit by offset; none where one is damaged."""
        from testbed.image.debug.entries import read_entries

        if unit not in self._entries:
            self._entries[unit] = {}
            try:
                self._entries[unit] = read_entries(unit)
            except DebugInfoError as error:
                self.met.append(error)
        return self._entries[unit]

    def _entry(self, offset: int) -> DebugEntry | None:
        """The entry at an offset, of whatever unit."""
        i = bisect_right(self.units, offset, key=lambda unit: unit.offset) - 1
        return self._entries_of(self.units[i]).get(offset) if i >= 0 else None


def _grouped(pairs: Iterable[tuple[Key, Function]]) -> dict[Key, list[Function]]:
    out: dict[Key, list[Function]] = {}
    for key, function in pairs:
        out.setdefault(key, []).append(function)
    return out


@once_per_image
def debug_info(image: Image) -> DebugInfo:
    """The debug information of an image, each part read once; without any, it is empty. Raises nothing."""
    if not has(image, ".debug_info"):
        return DebugInfo(image, ())
    from testbed.image.debug.entries import read_units

    try:
        with account_of(image).working():
            units, problems = read_units(image)
    except BudgetExceeded as error:
        return DebugInfo(image, (), [error])
    return DebugInfo(image, units, list(problems))


@once_per_image
def says_conventions(image: Image) -> bool:
    """True where debug information can say how a function is called, or that OCaml's compiler made it.

    Asked before any entry is read, which takes seconds for a large file.
    """
    from testbed.image.debug.entries import declares
    from testbed.image.debug.forms import Attribute, Tag

    places = (image.sections.get(name) for name in (".debug_str", ".debug_info", ".debug_line_str"))
    of_ocaml = any(section is not None and b"ocamlopt" in section.data for section in places)
    return of_ocaml or declares(image, Tag.SUBPROGRAM, Attribute.CALLING_CONVENTION)
