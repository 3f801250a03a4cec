"""The symbol tables of an ELF file: what has a name, the mapping symbols, and where functions begin.

Source: System V ABI, chapter 4 (symbol table); ELF for the Arm Architecture, section 5.5.5 (mapping symbols).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elftools.elf.sections import SymbolTableSection

from testbed.arch import Arch, Isa
from testbed.image.model import Symbol
from testbed.words.budget import Account
from testbed.words.printable import printable

_VARIANT = (4, 5, 6, 7)  # the upper three bits of st_other: STO_AARCH64_VARIANT_PCS is 0x80
_NOT_SYMBOLS = ("STT_FILE", "STT_SECTION", "STT_TLS")


@dataclass(frozen=True, slots=True)
class SymbolTables:
    """Named symbols (functions first among equals, then global ones), the mapping symbols, and where functions begin.

    Of ``functions`` the addresses are as they are in the file, with the bit that says Thumb.
    """

    symbols: tuple[Symbol, ...]
    marks: Mapping[int, Isa]
    functions: tuple[int, ...]


def joined(own: SymbolTables, more: SymbolTables) -> SymbolTables:
    """The symbols of a file and of what belongs to it. Mapping symbols are the file's own, if it has any."""
    known = {(symbol.name, symbol.address) for symbol in own.symbols}
    both = [*own.symbols, *(symbol for symbol in more.symbols if (symbol.name, symbol.address) not in known)]
    return SymbolTables(
        tuple(sorted(both, key=lambda s: (s.address, s.is_function, not s.local))),
        own.marks or more.marks,
        (*own.functions, *more.functions),
    )


def elf_symbols(elf: Any, arch: Arch, account: Account) -> SymbolTables:
    """The symbols of all symbol tables of a file that pyelftools has opened."""
    by_mark = {isa.mapping_symbol: isa for isa in arch.isas if isa.mapping_symbol}
    found: list[tuple[tuple[int, int, int, str], Symbol]] = []
    marks: dict[int, Isa] = {}
    functions: list[int] = []
    for table in elf.iter_sections():
        if not isinstance(table, SymbolTableSection):
            continue
        for entry in table.iter_symbols():
            account.spend("entries", 1, table.header.sh_offset)
            account.spend("steps", 8, table.header.sh_offset)  # for each, pyelftools parses a structure
            account.spend("unpacked", len(entry.name), table.header.sh_offset)
            kind = entry["st_info"]["type"]
            if entry["st_shndx"] == "SHN_UNDEF" or kind in _NOT_SYMBOLS or not entry.name:
                continue
            if entry["st_shndx"] == "SHN_ABS" and kind == "STT_OBJECT":
                continue  # the name of a version of a library, GLIBC_2.34: no address
            mark = entry.name.split(".")[0]
            if mark in by_mark:
                marks[entry["st_value"]] = by_mark[mark]
                continue
            if entry.name.startswith("$"):
                continue
            is_function = kind in ("STT_FUNC", "STT_GNU_IFUNC")
            address = arch.code_address(entry["st_value"]) if is_function else entry["st_value"]
            if is_function:
                functions.append(entry["st_value"])
            local = entry["st_info"]["bind"] == "STB_LOCAL"
            # The last of several symbols at one address is the one a lookup meets first.
            order = (address, int(is_function), int(not local), entry.name)
            weak, is_data = entry["st_info"]["bind"] == "STB_WEAK", kind in ("STT_OBJECT", "STT_COMMON")
            name, size = printable(entry.name), entry["st_size"]
            variant = entry["st_other"]["local"] in _VARIANT
            found.append((order, Symbol(name, address, size, is_function, local, weak, is_data, variant)))
    unique = dict(sorted(found, key=lambda pair: pair[0]))
    return SymbolTables(tuple(unique.values()), marks, tuple(functions))
