"""What belongs to a stripped ELF file and lies elsewhere: its separate debug file, and its MiniDebugInfo.

Of both are taken the symbols, and the sections of debug information and ``.debug_frame`` that the file itself does not
have. MiniDebugInfo is an ELF file in the section ``.gnu_debugdata``, xz-compressed: Fedora's has symbols, Android's
``.debug_frame`` too.

Source: manual of gdb, sections "Debugging Information in Separate Files" and "MiniDebugInfo".
"""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from struct import Struct
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from testbed.arch import Arch, Isa
from testbed.image.model import Section, Segment, Symbol
from testbed.image.separate_debug import ALTERNATE, BUILD_ID, DebugDirs, alternate_name, find_debug_file, gnu_build_id
from testbed.words.budget import Account
from testbed.words.errors import BudgetExceeded, ImageError
from testbed.words.printable import printable

# The symbol tables of an ELF file: what has a name, the mapping symbols, and where functions begin.
#
# Source: System V ABI, chapter 4 (symbol table); ELF for the Arm Architecture, section 5.5.5 (mapping symbols).

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


_MINI = ".gnu_debugdata"
_MOST_MINI = 1 << 28  # bytes, unpacked
# What pyelftools stumbles over in a corrupt file.
CORRUPT = (
    *(ELFError, ConstructError, AssertionError, ValueError, KeyError, IndexError, OverflowError, TypeError),
    *(AttributeError, MemoryError, UnicodeDecodeError, zlib.error),
)


@dataclass(frozen=True, slots=True)
class ElfParts:
    """What was read of an ELF file, and what was added to it from where; ``notes`` say what was not."""

    arch: Arch
    segments: tuple[Segment, ...]
    sections: Mapping[str, Section]
    symbols: SymbolTables
    account: Account
    debug_file: Path | None = None
    notes: tuple[str, ...] = ()


def with_companions(path: Path, own: ElfParts, dirs: DebugDirs) -> ElfParts:
    """A file with what belongs to it. Raises ImageError for MiniDebugInfo that cannot be unpacked: that is in the file.

    A separate debug file that is damaged, or another program's, is told in ``notes``.
    """
    parts = own
    found = find_debug_file(path, own.sections, dirs)
    parts = replace(parts, notes=found.notes)
    if found.path is not None:
        parts = _with_debug_file(parts, found.path, found.content)
    if _MINI in own.sections:
        parts = _added(parts, _opened(_unpacked(path, own.sections[_MINI], own.account)), own.account)
    if (name := alternate_name(parts.sections)) and not dirs.quiet:
        note = f"a part of its debug information is in {name} ({ALTERNATE}), which is not read: names may be missing"
        parts = replace(parts, notes=(*parts.notes, note))
    return parts


def _with_debug_file(parts: ElfParts, path: Path, content: bytes) -> ElfParts:
    """A file with what its separate debug file adds, or with a note of why that cannot be its own."""
    account = Account(path, len(content), parts.account.budget)
    try:
        elf = _opened(content)
        account.spend("parts", elf.num_segments(), elf["e_phoff"])
        account.spend("steps", elf.num_segments() * elf.num_sections(), elf["e_phoff"])
        why, added = _another_programs(parts, elf, account), _added(parts, elf, account)
    except BudgetExceeded as costly:
        why = str(costly)
    except CORRUPT as error:
        why = f"corrupt ELF structure: {error or type(error).__name__}"
    if why:
        return replace(parts, notes=(*parts.notes, f"{path} is not its debug file: {why}"))
    return replace(added, debug_file=path)


def _opened(content: bytes) -> Any:
    return ELFFile(io.BytesIO(content))


def _another_programs(own: ElfParts, elf: Any, account: Account) -> str:
    """Why a debug file is another program's; empty where nothing says so."""
    theirs = next((section for section in sections_of(elf, account) if section.name == BUILD_ID), None)
    identifier = gnu_build_id(section_data(theirs, account)) if theirs is not None else b""
    note = own.sections.get(BUILD_ID)
    ours = gnu_build_id(note.data) if note is not None else b""
    if identifier and ours and identifier != ours:
        return f"its build id is {identifier.hex()}, not {ours.hex()}"
    address = next((segment.header.p_vaddr for segment in elf.iter_segments("PT_LOAD")), None)
    wide = elf.elfclass == 8 * own.arch.word
    if not wide or (own.segments and address not in (None, own.segments[0].address)):
        return "it has addresses of another size, or was linked at another address"
    return ""


def _added(parts: ElfParts, elf: Any, account: Account) -> ElfParts:
    more = _debug_sections(elf, parts.sections, account)
    symbols = joined(parts.symbols, elf_symbols(elf, parts.arch, account))
    return replace(parts, sections={**parts.sections, **more}, symbols=symbols)


def sections_of(elf: Any, account: Account) -> Iterator[Any]:
    """pyelftools' sections. Many may share one long name, and a number of headers costs a few bytes to claim."""
    for section in elf.iter_sections():
        account.spend("entries", 1, section.header.sh_offset)
        account.spend("unpacked", len(section.name), section.header.sh_offset)
        yield section


def section_data(section: Any, account: Account) -> bytes:
    """The content of a section, unpacked. pyelftools unpacks no more than the size that the section says."""
    account.spend("unpacked" if section.compressed else "mapped", section.data_size, section.header.sh_offset)
    data: bytes = section.data()
    return data


def _debug_sections(elf: Any, own: Mapping[str, Section], account: Account) -> dict[str, Section]:
    """Sections of debug information. They refer to each other: a file with its own takes none but ``.debug_frame``."""
    wanted = {}
    for section in sections_of(elf, account):
        name, header = section.name, section.header
        if header.sh_type == "SHT_NOBITS" or name in own or not name.startswith((".debug_", ALTERNATE)):
            continue
        if name == ".debug_frame" or ".debug_info" not in own:
            wanted[name] = Section(name, header.sh_addr, header.sh_offset, section_data(section, account))
    return wanted


def _unpacked(path: Path, section: Section, account: Account) -> bytes:
    most = min(_MOST_MINI, account.left("unpacked") + 1)
    try:
        unpacker = lzma.LZMADecompressor(memlimit=_MOST_MINI)
        content = unpacker.decompress(section.data, most)
    except lzma.LZMAError as error:
        raise ImageError(path, section.offset, f"section {_MINI} is not xz data: {error}") from error
    account.spend("unpacked", len(content), section.offset)
    if not unpacker.eof:
        raise ImageError(path, section.offset, f"section {_MINI} is cut off, or unpacks to over {_MOST_MINI:#x} bytes")
    return content
