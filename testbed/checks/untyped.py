"""Functions of assembly that never says ``.type``: labels that the linker knows, where a function can only begin.

A label is a function where a call of the file leads to it, or a table's entry begins there, or where nothing goes on to
it: no instruction above, and no jump. Others are places inside of one. A file that says of one function that it is one
is taken at its word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from testbed.image import Image, Symbol
from testbed.micro.code_scan import scan
from testbed.micro.functions import table_ranges


def with_labels_as_functions(image: Image) -> Image:
    """An image whose labels in code are functions, if it has no function; each reaches to the next one."""
    if any(symbol.is_function for symbol in image.symbols):
        return image
    found = [symbol for start, end in _code(image) for symbol in _functions(image, start, end)]
    others = [symbol for symbol in image.symbols if symbol.address not in {each.address for each in found}]
    return replace(image, symbols=tuple(sorted((*others, *found), key=lambda symbol: symbol.address)))


def _code(image: Image) -> Iterator[tuple[int, int]]:
    """The sections that may be executed, but the linker's own."""
    spans = [(each.address, each.address + each.size) for each in image.segments if each.executable]
    for section in image.sections.values():
        is_code = any(low <= section.address < high for low, high in spans)
        if is_code and section.data and not section.name.startswith((".plt", ".iplt")):
            yield section.address, section.address + len(section.data)


def _functions(image: Image, start: int, end: int) -> Iterator[Symbol]:
    """The functions of one section."""
    labels = [symbol for symbol in image.symbols if start <= symbol.address < end and not symbol.is_data]
    if not labels:
        return
    code = scan(image, start, end, is_behind=True)
    begins = {*code.calls.values(), *(first for first, _ in table_ranges(image))} | (code.behind - code.jumps)
    chosen = [symbol for symbol in labels if symbol.address in begins and symbol.address not in code.filling]
    places = sorted({symbol.address for symbol in chosen})
    after = dict(zip(places, (*places[1:], end), strict=True))
    for symbol in chosen:
        yield replace(symbol, is_function=True, size=after[symbol.address] - symbol.address)
