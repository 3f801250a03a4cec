"""A static ELF executable, written out (System V ABI, chapters 4 and 5; ELF for the Arm Architecture, section 5).

::

    IMAGE_BASE   ELF header, program headers                     PT_LOAD R
    TEXT_BASE    .text                                           PT_LOAD R+X
    next page    .eh_frame_hdr .eh_frame .sframe .orc_*          PT_LOAD R
                 .ARM.exidx .ARM.extab
    not loaded   .debug_frame .symtab .strtab .shstrtab, section headers
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from testbed.arch import Arch, PerArch
from testbed.build.targets import IMAGE_BASE, PAGE, TEXT_BASE, ZEROED_BASE

_PROGBITS, _SYMTAB, _STRTAB, _ARM_EXIDX, _GNU_SFRAME = 1, 2, 3, 0x7000_0001, 0x6FFF_FFF4
_WRITE, _ALLOC, _EXECINSTR, _LINK_ORDER = 1, 2, 4, 0x80
_PT_LOAD, _PT_EH_FRAME, _PT_STACK, _PT_SFRAME, _PT_ARM_EXIDX = 1, 0x6474_E550, 0x6474_E551, 0x6474_E554, 0x7000_0001
_R, _W, _X = 4, 2, 1
_ET_EXEC, _ET_DYN = 2, 3

# e_machine and e_flags. arm32: EABI version 5, as lld writes it for code without a floating-point interface.
_HEADERS = PerArch({"x86_64": (62, 0), "arm64": (183, 0), "arm32": (40, 0x0500_0200)})


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """A symbol of ``.text``; ``value`` has the Thumb bit set where the symbol is a Thumb function."""

    name: str
    value: int
    size: int = 0
    is_function: bool = False
    is_object: bool = False
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class _TableSection:
    """How a section of tables appears: its type, flags, alignment, and the program header that points at it."""

    kind: int = _PROGBITS
    flags: int = _ALLOC
    alignment: int = 4
    header: int | None = None


# In file order. All but the last are loaded.
_TABLES: Mapping[str, _TableSection] = {
    ".eh_frame_hdr": _TableSection(header=_PT_EH_FRAME),
    ".eh_frame": _TableSection(alignment=8),
    ".sframe": _TableSection(kind=_GNU_SFRAME, alignment=8, header=_PT_SFRAME),
    ".orc_unwind_ip": _TableSection(),
    ".orc_unwind": _TableSection(alignment=2),
    ".orc_header": _TableSection(),
    ".ARM.exidx": _TableSection(kind=_ARM_EXIDX, flags=_ALLOC | _LINK_ORDER, header=_PT_ARM_EXIDX),
    ".ARM.extab": _TableSection(),
}


@dataclass(slots=True)
class _WrittenSection:
    name: str
    kind: int
    flags: int
    address: int
    content: bytes
    alignment: int
    link: int = 0
    info: int = 0
    entry_size: int = 0
    offset: int = 0


def table_addresses(code_size: int, sizes: Sequence[tuple[str, int]]) -> Mapping[str, int]:
    """Where the tables of these sizes (name, bytes) will lie behind ``code_size`` bytes of code."""
    at = -(-(TEXT_BASE + code_size) // PAGE) * PAGE
    addresses = {}
    wanted = dict(sizes)
    for name, table in _TABLES.items():
        if name in wanted:
            at += -at % table.alignment
            addresses[name] = at
            at += wanted[name]
    return addresses


def write_elf(
    arch: Arch,
    code: bytes,
    tables: Mapping[str, bytes],
    debug_frame: bytes,
    symbols: Sequence[ElfSymbol],
    entry: int,
    zeroed: int = 0,
    *,
    anywhere: bool = False,
) -> bytes:
    """The bytes of the file. ``tables`` are the loaded sections, written for the addresses that
    ``table_addresses`` gave for their sizes; ``zeroed`` is the size of ``.bss``. ``anywhere``: it is of code that
    lies at another address, as a shared library's, and its header in no memory."""
    sections = [_WrittenSection(".text", _PROGBITS, _ALLOC | _EXECINSTR, TEXT_BASE, code, 4)]
    addresses = table_addresses(len(code), [(name, len(content)) for name, content in tables.items()])
    for name, address in addresses.items():
        table = _TABLES[name]
        link = 1 if table.flags & _LINK_ORDER else 0  # .text, the first section
        sections.append(_WrittenSection(name, table.kind, table.flags, address, tables[name], table.alignment, link))
    loaded = len(sections)
    if debug_frame:
        sections.append(_WrittenSection(".debug_frame", _PROGBITS, 0, 0, debug_frame, arch.word))
    ordered = sorted(symbols, key=lambda symbol: symbol.is_global)  # local ones first, says the format
    names, content = _symbol_table(ordered, arch)
    first_global = 1 + sum(not symbol.is_global for symbol in ordered)
    entry_size = 24 if arch.word == 8 else 16
    strings = len(sections) + 2
    sections.append(_WrittenSection(".symtab", _SYMTAB, 0, 0, content, arch.word, strings, first_global, entry_size))
    sections.append(_WrittenSection(".strtab", _STRTAB, 0, 0, names, 1))
    section_names, name_offsets = _strings([*(s.name for s in sections), ".shstrtab"])
    sections.append(_WrittenSection(".shstrtab", _STRTAB, 0, 0, section_names, 1))
    return _file(arch, sections, loaded, name_offsets, entry, zeroed, anywhere)


def _file(
    arch: Arch,
    sections: list[_WrittenSection],
    loaded: int,
    names: Sequence[int],
    entry: int,
    zeroed: int,
    anywhere: bool,
) -> bytes:
    header_size, program_size, section_size = (64, 56, 64) if arch.word == 8 else (52, 32, 40)
    headers = {name: table.header for name, table in _TABLES.items() if table.header is not None}
    special = [(section, headers[section.name]) for section in sections[:loaded] if section.name in headers]
    program_headers = 3 - anywhere + (loaded > 1) + len(special) + (zeroed > 0)
    headers_end = header_size + program_headers * program_size
    content = bytearray(headers_end)
    for section in sections:
        # A loaded section lies in the file as it does in its page.
        alignment, rest = (PAGE, section.address % PAGE) if section.address else (section.alignment, 0)
        content.extend(bytes((rest - len(content)) % alignment))
        section.offset = len(content)
        content.extend(section.content)
    content.extend(bytes(-len(content) % arch.word))
    table_offset = len(content)
    content.extend(bytes(section_size))  # section 0
    for section, name in zip(sections, names, strict=False):
        content.extend(_section_header(arch, section, name))

    text, tables = sections[0], sections[1:loaded]
    lines = [] if anywhere else [_program_header(arch, _PT_LOAD, _R, 0, IMAGE_BASE, headers_end, PAGE)]
    lines.append(_program_header(arch, _PT_LOAD, _R | _X, text.offset, text.address, len(text.content), PAGE))
    if tables:
        first, last = tables[0], tables[-1]
        size = last.address + len(last.content) - first.address
        lines.append(_program_header(arch, _PT_LOAD, _R, first.offset, first.address, size, PAGE))
    if zeroed:
        lines.append(_program_header(arch, _PT_LOAD, _R | _W, 0, ZEROED_BASE, 0, PAGE, zeroed))
    for section, kind in special:
        lines.append(
            _program_header(arch, kind, _R, section.offset, section.address, len(section.content), section.alignment)
        )
    lines.append(_program_header(arch, _PT_STACK, _R | _W, 0, 0, 0, 0))
    content[header_size:headers_end] = b"".join(lines)
    content[:header_size] = _elf_header(arch, entry, table_offset, program_headers, len(sections) + 1, anywhere)
    return bytes(content)


def _elf_header(arch: Arch, entry: int, sections_at: int, program_headers: int, sections: int, anywhere: bool) -> bytes:
    wide = arch.word == 8
    identification = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)  # class, little-endian, version
    sizes = (64, 56, 64) if wide else (52, 32, 40)
    machine, flags = _HEADERS[arch.name]
    return identification + struct.pack(
        "<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH",
        _ET_DYN if anywhere else _ET_EXEC,
        machine,
        1,
        entry,
        sizes[0],
        sections_at,
        flags,
        sizes[0],
        sizes[1],
        program_headers,
        sizes[2],
        sections,
        sections - 1,  # .shstrtab is the last one
    )


def _program_header(
    arch: Arch, kind: int, flags: int, offset: int, address: int, size: int, alignment: int, zeroed: int = 0
) -> bytes:
    """``zeroed`` bytes follow the ``size`` bytes of the file."""
    whole = size + zeroed
    if arch.word == 8:
        return struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, size, whole, alignment)
    return struct.pack("<IIIIIIII", kind, offset, address, address, size, whole, flags, alignment)


def _section_header(arch: Arch, section: _WrittenSection, name: int) -> bytes:
    return struct.pack(
        "<IIQQQQIIQQ" if arch.word == 8 else "<IIIIIIIIII",
        name,
        section.kind,
        section.flags,
        section.address,
        section.offset,
        len(section.content),
        section.link,
        section.info,
        section.alignment,
        section.entry_size,
    )


def _symbol_table(symbols: Sequence[ElfSymbol], arch: Arch) -> tuple[bytes, bytes]:
    """The bytes of ``.strtab`` and of ``.symtab``."""
    strings, offsets = _strings([symbol.name for symbol in symbols])
    wide = arch.word == 8
    content = bytes(24 if wide else 16)  # symbol 0
    for symbol, name in zip(symbols, offsets, strict=True):
        kind = 2 if symbol.is_function else 1 if symbol.is_object else 0
        info = (symbol.is_global << 4) | kind
        if wide:
            content += struct.pack("<IBBHQQ", name, info, 0, 1, symbol.value, symbol.size)
        else:
            content += struct.pack("<IIIBBH", name, symbol.value, symbol.size, info, 0, 1)
    return strings, content


def _strings(names: Sequence[str]) -> tuple[bytes, list[int]]:
    """A string table, and where each name starts in it."""
    content = bytearray(1)
    offsets = []
    for name in names:
        offsets.append(len(content))
        content += name.encode("utf-8") + b"\0"
    return bytes(content), offsets
