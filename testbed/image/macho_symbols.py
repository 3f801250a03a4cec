"""Names in a Mach-O file: the symbol table, and where functions start.

Layout (Apple, ``mach-o/nlist.h``)::

    nlist_64: offset of the name in the string table (4), type (1), section number from 1 (1), description (2),
              value (8)
    LC_FUNCTION_STARTS: unsigned LEB128 distances, the first from the image's base; a zero ends them
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from testbed.image.file_bytes import FileBytes
from testbed.image.model import Symbol

_ENTRY = 16
_STAB, _TYPE = 0xE0, 0x0E  # masks of n_type: debugger entries; the kind
_UNDEFINED, _IN_SECTION = 0x0, 0xE
_EXTERNAL = 0x01
_LOADERS_OWN = "dyld_stub_binder"  # x86_64 linkers name it in every file; only lazily bound calls come to it


class _AnySection(Protocol):
    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def holds_code(self) -> bool: ...


def function_starts(encoded: FileBytes, base: int) -> tuple[int, ...]:
    """The link-time addresses of LC_FUNCTION_STARTS. Raises ImageError where the numbers do not end."""
    found = []
    at, address = 0, base
    while at < len(encoded):
        encoded.account.spend("entries", 1, encoded.start + at)
        delta, at = encoded.uleb(at, "LC_FUNCTION_STARTS")
        if not delta:
            break
        address += delta
        found.append(address)
    return tuple(found)


def read_symbols(
    file: FileBytes, command: tuple[int, int] | None, sections: Sequence[_AnySection], functions: Sequence[int]
) -> tuple[tuple[Symbol, ...], tuple[str, ...]]:
    """The symbols that are defined in sections, by address; and the names that other files must define.

    Of two names for one address the external one comes last, where a look-up meets it first. Raises ImageError where
    the table or a name lies outside the file.
    """
    if command is None:
        return (), ()
    said = file.part(*command, "LC_SYMTAB")
    offset, count, strings_offset, strings_size = (said.unsigned(8 + 4 * i, 4, "LC_SYMTAB") for i in range(4))
    table = file.part(offset, count * _ENTRY, "the symbol table")
    strings = file.part(strings_offset, strings_size, "the string table")
    found: list[tuple[int, bool, bool, str]] = []
    imports: list[str] = []
    for i in range(count):
        at = i * _ENTRY
        file.account.spend("entries", 1, offset + at)
        kind, number = table.unsigned(at + 4, 1, "a symbol"), table.unsigned(at + 5, 1, "a symbol")
        value = table.unsigned(at + 8, 8, "a symbol")
        if kind & _STAB:
            continue
        name = strings.string(table.unsigned(at, 4, "a symbol"), f"the name of symbol {i}").removeprefix("_")
        if kind & _TYPE == _UNDEFINED and kind & _EXTERNAL and name != _LOADERS_OWN:
            imports.append(name)
        if kind & _TYPE != _IN_SECTION or not name:
            continue
        if not 1 <= number <= len(sections):
            raise table.error(at, f"symbol {name} is in section {number} of {len(sections)}")
        section = sections[number - 1]
        inside = section.address <= value < section.address + section.size
        found.append((value, inside and section.holds_code, bool(kind & _EXTERNAL), name))
    bounds = sorted(
        {*(address for address, *_ in found), *functions}
        | {bound for section in sections for bound in (section.address, section.address + section.size)}
    )

    def size(address: int) -> int:
        i = bisect_right(bounds, address)
        return bounds[i] - address if i < len(bounds) else 0

    symbols = tuple(Symbol(name, address, size(address), code) for address, code, _, name in sorted(found))
    return symbols, tuple(imports)
