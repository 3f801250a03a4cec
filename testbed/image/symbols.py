"""From an address to the symbol that names it, and from a linker's name to one that people read.

The rules, in order, for a link-time address:

1. a function whose ``[address, address + size)`` covers it; of several, the one that begins last; among those that
   begin together the global before the weak before the local, and then the shorter name;
2. else the nearest function without a size at or below it, in the same section, if no other function begins between
   and nothing that has a size ended there: hand-written code often has no ``.size``;
3. else a symbol of no type, a label, under the same two rules: never a data object;
4. else none: the frame is named by its file and offset.

Mapping symbols (``$a``, ``$t``, ``$x``, ``$d``) name nothing. Source: System V ABI, chapter 4 (symbol table).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import chain

from testbed.image.demangling import bare, brief, demangled, last_part, whole_function, without_parameters
from testbed.image.model import Image, LoadedImage, Segment, Symbol, image_covering, once_per_image

MOST_NESTED = 1 << 12  # symbols inside another one that are looked through: more is damage


class _CodeSymbols:
    """The symbols of one image that may name code, sorted by address."""

    def __init__(self, image: Image) -> None:
        code = [segment for segment in image.segments if segment.executable]
        inside = [s for s in image.symbols if segment_of(code, s.address) and not s.name.startswith("$")]
        self.functions = _sorted([s for s in inside if s.is_function])
        self.labels = _sorted([s for s in inside if not s.is_function and not s.is_data])
        self.code = code
        self.sections = sorted(section.address for section in image.sections.values() if section.address)

    def begins(self, segment: Segment, address: int) -> int:
        """Where the code begins that an address is of: its section, or of a file without sections its segment."""
        i = bisect_right(self.sections, address) - 1
        return max(segment.address, self.sections[i] if i >= 0 else 0)


def _sorted(symbols: list[Symbol]) -> tuple[list[int], list[Symbol], list[int]]:
    """(addresses, symbols, how far those up to each one reach); the preferred one of an address comes last."""
    symbols.sort(key=lambda s: (s.address, s.size > 0, not s.local, not s.weak, -len(s.name), s.name))
    reach: list[int] = []
    for symbol in symbols:
        reach.append(max(symbol.address + symbol.size, reach[-1] if reach else 0))
    return [s.address for s in symbols], symbols, reach


_lookup = once_per_image(_CodeSymbols)


def symbol_for(image: Image, address: int) -> Symbol | None:
    """The symbol that names the code at a link-time address, or None."""
    lookup = _lookup(image)
    segment = segment_of(lookup.code, address)
    if segment is None:
        return None
    for table in (lookup.functions, lookup.labels):
        if (
            symbol := _covering(table, address) or _sizeless(table, lookup.begins(segment, address), address)
        ) is not None:
            return symbol
    return None


def segment_of(segments: list[Segment], address: int) -> Segment | None:
    """The segment that an address lies in; None where it lies in none."""
    return next((s for s in segments if s.address <= address < s.address + s.size), None)


def _covering(table: tuple[list[int], list[Symbol], list[int]], address: int) -> Symbol | None:
    addresses, symbols, reach = table
    i = bisect_right(addresses, address) - 1
    last = max(0, i - MOST_NESTED)
    while i >= last and reach[i] > address:
        if address < symbols[i].address + symbols[i].size:
            return symbols[i]
        i -= 1
    return None


def _sizeless(table: tuple[list[int], list[Symbol], list[int]], begins: int, address: int) -> Symbol | None:
    addresses, symbols, _ = table
    i = bisect_right(addresses, address) - 1
    if i < 0 or symbols[i].size or symbols[i].address < begins:
        return None
    return symbols[i]


def named_so(image: Image, name: str) -> tuple[Symbol, ...]:
    """All code that people call so.

    By the linker's name, else the readable one, whole, brief or without parameters; else without templates and
    namespaces, as gdb's ``break`` takes a name.
    """
    if (symbol := image.symbol_named(name)) is not None:
        return (symbol,) if segment_of(_lookup(image).code, symbol.address) else ()
    code = _named_code(image)
    found = tuple(s for s in code if name in _readable_names(s))
    return found or tuple(s for s in code if f"::{bare(readable(s))}".endswith(f"::{name}"))


def near_names(image: Image, name: str, others: Iterable[str] = (), most: int = 3) -> tuple[str, ...]:
    """The names of code, and of others, that are nearest to one, brief: by their last parts, without namespaces."""
    by_last: dict[str, dict[str, None]] = {}
    for readable_name in chain(map(readable, _named_code(image)), others):
        by_last.setdefault(last_part(readable_name), {})[brief(without_parameters(readable_name))] = None
    last = name.rpartition("::")[2]
    near = (full for each in get_close_matches(last, by_last, n=most, cutoff=0.5) for full in by_last[each])
    return tuple(near)[:most]


def _named_code(image: Image) -> list[Symbol]:
    lookup = _lookup(image)
    return lookup.functions[1] + lookup.labels[1]


def _readable_names(symbol: Symbol) -> tuple[str, ...]:
    whole = readable(symbol)
    return whole, brief(whole), without_parameters(whole)


def describe(images: tuple[LoadedImage, ...], address: int, *, caller: bool = False) -> str:
    """``function+0x4`` for a run-time address, ``file+0x1234`` without a symbol; bare hex outside every image.

    With ``caller`` the address is a return address, named after the function that made the call: a call that
    never returns may be its last instruction, and the address then belongs to the next function.
    """
    at = address - 1 if caller else address
    loaded = image_covering(images, at)
    if loaded is None:
        return f"{address:#x}"
    return place_in(loaded.image, symbol_for(loaded.image, at - loaded.bias), address - loaded.bias)


def place_in(image: Image, symbol: Symbol | None, address: int) -> str:
    """A link-time address as the distance from its symbol, by its brief name, or from the file's own beginning."""
    if symbol is None:
        return f"{image}+{address - image.base:#x}"
    name = brief(readable(symbol))
    return name if symbol.address == address else f"{name}+{address - symbol.address:#x}"


def readable(symbol: Symbol) -> str:
    """A symbol's name as people read it; a split-off piece keeps its mark, since offsets count from the piece."""
    return demangled(symbol.name) + symbol.name[len(whole_function(symbol.name)) :]
