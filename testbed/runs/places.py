"""Places of a program file as people name them: by a name and a distance from it, or by a line of the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from testbed.image import Image, LoadedImage
from testbed.image.debug import debug_info
from testbed.image.demangling import bare, demangled, without_parameters
from testbed.image.symbols import named_so, near_names
from testbed.words.catalogue import nearest
from testbed.words.errors import UsageError

if TYPE_CHECKING:
    from testbed.image.debug.functions import Inlined
    from testbed.image.debug.lines import LineRow

_OF_A_SYMBOL = re.compile(r"(?P<name>(?:[^\W\d]|[.$~<(]).*?)(?:\+(?P<offset>0x[0-9a-fA-F]+|\d+))?(?:#(?P<visit>\d+))?")
_OF_A_LINE = re.compile(r"(?P<file>[^:#]+):(?P<line>\d{1,9})(?:#(?P<visit>\d+))?")


class AskedPlace(NamedTuple):
    """A name and a distance from it, or a file's name and a ``line``; which visit is meant, from 1 on."""

    name: str
    offset: int
    line: int | None
    visit: int


def place_of(location: str) -> AskedPlace:
    """What a location says. Raises UsageError where it says nothing."""
    of_line, of_symbol = _OF_A_LINE.fullmatch(location), _OF_A_SYMBOL.fullmatch(location)
    try:
        if of_line is not None:
            return AskedPlace(of_line["file"], 0, int(of_line["line"]), int(of_line["visit"] or 1))
        if of_symbol is not None:
            return AskedPlace(of_symbol["name"], int(of_symbol["offset"] or "0", 0), None, int(of_symbol["visit"] or 1))
    except ValueError as error:  # a number with a leading zero, or of thousands of digits
        raise UsageError(f"{location[:60]!r} is no location: a number in it is none") from error
    raise UsageError(f"{location[:60]!r} is no location: use symbol, symbol+0x4, symbol+0x4#2, FILE:LINE or @17")


def addresses_at(image: Image, place: AskedPlace) -> list[int]:
    """The link-time addresses of a place: of a line all at which its code begins, of a name all that are called so."""
    if place.line is None:
        return [symbol.address + place.offset for symbol in named_so(image, place.name)]
    return sorted({row.start for row in _rows(image, place.name) if row.line.line == place.line})


def inlined_at(image: Image, place: AskedPlace) -> list[int]:
    """Where calls of a function begin that were replaced by its code, at link-time addresses."""
    calls = (call for function in debug_info(image).functions for call in function.every_inlined())
    entries = (call.entry for call in calls if call.entry is not None and _is_called(call, place.name))
    return sorted({entry + place.offset for entry in entries})


def _is_called(call: Inlined, name: str) -> bool:
    """Whether people call a function so. One that no linker names has no namespace here: any fits."""
    if not call.linkage_name:
        return call.name == name.rpartition("::")[2]
    readable = without_parameters(demangled(call.linkage_name))
    return name in (call.linkage_name, readable) or f"::{bare(readable)}".endswith(f"::{name}")


def located(files: Sequence[LoadedImage], location: str) -> tuple[list[int], int]:
    """The pcs and the visit that a location names, in the first file that has it. Raises UsageError for none."""
    place = place_of(location)
    for places in (addresses_at, inlined_at):
        for loaded in files:
            if found := places(loaded.image, place):
                # Of the first file, also where its calls are inlined: of libraries that may be much to read.
                more = inlined_at(loaded.image, place) if loaded is files[0] else ()
                return [address + loaded.bias for address in sorted({*found, *more})], place.visit
    raise UsageError(f"{location[:60]}: {missing([each.image for each in files], place)}")


def missing(images: Sequence[Image], place: AskedPlace) -> str:
    """Why a place is in none of some files, with what is near: in the first one, else in those behind it."""
    image = images[0]
    if place.line is None and image.symbol_named(place.name) is not None:
        return f"{place.name!r} is no code"
    if place.line is None and has_lines_of(image, source := place.name.rstrip(":")):
        return f"a source file of {image}; a place in it is {source}:LINE"
    if place.line is None:
        inlined = {call.name: None for function in debug_info(image).functions for call in function.every_inlined()}
        found = ((each, near_names(each, place.name, inlined if each is image else ())) for each in images)
        file, close = next((each for each in found if each[1]), (image, ()))
        where, of = (f" in {image} or its libraries", f" of {file}") if len(set(images)) > 1 else ("", "")
        said = f"did you mean {', '.join(close)}{of}?" if close else "no name is near it"
        return f"no symbol {place.name!r}{where}; {said}"
    wanted = place.line
    if lines := sorted({row.line.line for row in _rows(image, place.name)} - {0}, key=lambda n: abs(n - wanted)):
        near = ", ".join(map(str, sorted(lines[:3])))
        return f"line {wanted} of {place.name} has no code; the nearest that have some: {near}"
    files = {row.line.name for table in debug_info(image).tables for row in table.rows}
    if not files:
        return f"{image.path.name} has no debug information that names lines"
    return f"no line of {place.name!r}; {nearest(place.name, files)}"


def has_lines_of(image: Image, file: str) -> bool:
    """True where code was made from a source file, by its name or the last parts of its path."""
    return next(_rows(image, file), None) is not None


def _rows(image: Image, file: str) -> Iterator[LineRow]:
    """Where lines of a file begin: the file by its name, or by the last parts of its path.

    A line that has code begins where that does, and any other where the table has it.
    """
    filled = set()
    for table in debug_info(image).tables:
        for row in table.rows:
            if f"/{row.line.file}".endswith(f"/{file}") and table.begins(row.start):
                filled.add(row.line.line)
                yield row
    for table in debug_info(image).tables:
        for row in table.empty:
            if f"/{row.line.file}".endswith(f"/{file}") and row.line.line not in filled:
                yield row
