"""The symbol tables of an ELF file: what has a name, the mapping symbols, and where functions begin.

Source: System V ABI, chapter 4 (symbol table); ELF for the Arm Architecture, section 5.5.5 (mapping symbols).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.sections import SymbolTableSection

from testbed.arch import Arch, Isa
from testbed.image.model import Symbol
from testbed.words.budget import Account
from testbed.words.printable import printable

# st_name, st_value, st_size, st_info, st_other, st_shndx; the 64-bit form has the last three before the value.
_ELF32, _ELF64 = Struct("<IIIBBH"), Struct("<IBBHQQ")
_UNDEF, _ABS = 0, 0xFFF1
_LOCAL, _WEAK = 0, 2
_OBJECT, _FUNCTION, _COMMON = 1, 2, 5  # an indirect function is a label: the resolver there has a name of its own
_NOT_SYMBOLS = (3, 4, 6)  # sections, files, thread-local data
_VARIANT_PCS = 0x80  # of st_other, on AArch64


@dataclass(frozen=True, slots=True)
class SymbolTables:
    """Named symbols (functions first among equals, then global ones), the mapping symbols, where functions begin, and
    where data begins that lies among code (``$d``).

    Of ``functions`` the addresses are as they are in the file, with the bit that says Thumb.
    """

    symbols: tuple[Symbol, ...]
    marks: Mapping[int, Isa]
    functions: tuple[int, ...]
    data: frozenset[int] = frozenset()


def joined(own: SymbolTables, more: SymbolTables) -> SymbolTables:
    """The symbols of a file and of what belongs to it. Mapping symbols are the file's own, if it has any."""
    known = {(symbol.name, symbol.address) for symbol in own.symbols}
    both = [*own.symbols, *(symbol for symbol in more.symbols if (symbol.name, symbol.address) not in known)]
    return SymbolTables(
        tuple(sorted(both, key=lambda s: (s.address, s.is_function, not s.local))),
        own.marks or more.marks,
        (*own.functions, *more.functions),
        own.data if own.marks else more.data,
    )


def elf_symbols(elf: Any, arch: Arch, account: Account) -> SymbolTables:
    """The symbols of all symbol tables of a file that pyelftools has opened."""
    by_mark = {isa.mapping_symbol: isa for isa in arch.isas if isa.mapping_symbol}
    found: list[tuple[tuple[int, int, int, str], Symbol]] = []
    marks: dict[int, Isa] = {}
    functions: list[int] = []
    data = set[int]()
    layout, order_of = (_ELF64, (0, 4, 5, 1, 2, 3)) if elf.elfclass == 64 else (_ELF32, (0, 1, 2, 3, 4, 5))
    for table in elf.iter_sections():
        if not isinstance(table, SymbolTableSection):
            continue
        where = table.header.sh_offset
        account.spend("entries", table.num_symbols(), where)
        account.spend("mapped", table.data_size + table.stringtable.data_size, where)
        names, entries = table.stringtable.data(), table.data()
        if table.header.sh_entsize != layout.size or len(entries) % layout.size:
            raise ELFError(f"the symbols at {where:#x} are not of {layout.size} bytes each")
        for entry in layout.iter_unpack(entries):
            at, value, size, info, other, section = (entry[i] for i in order_of)
            kind, binding = info & 0xF, info >> 4
            if section == _UNDEF or kind in _NOT_SYMBOLS or (section == _ABS and kind == _OBJECT):
                continue  # absolute objects are names of versions of a library, GLIBC_2.34: no address
            name = names[at : max(names.find(b"\0", at), at)].decode("utf-8", "replace")
            account.spend("unpacked", len(name), where)
            mark = name.split(".")[0]
            if mark in by_mark:
                marks[value] = by_mark[mark]
            elif mark == "$d":
                data.add(value)
            if not name or name.startswith("$"):
                continue
            is_function, local = kind == _FUNCTION, binding == _LOCAL
            address = arch.code_address(value) if is_function else value
            if is_function:
                functions.append(value)
            # The last of several symbols at one address is the one a lookup meets first.
            order = (address, int(is_function), int(not local), name)
            weak, is_data, variant = binding == _WEAK, kind in (_OBJECT, _COMMON), bool(other & _VARIANT_PCS)
            found.append((order, Symbol(printable(name), address, size, is_function, local, weak, is_data, variant)))
    unique = dict(sorted(found, key=lambda pair: pair[0]))
    return SymbolTables(tuple(unique.values()), marks, tuple(functions), frozenset(data))
