"""ELF files as images. Reading is pyelftools'; what the bytes of an unwind section mean is not asked here.

Source: System V ABI, chapters 4 and 5; ELF for the Arm Architecture, section 5.5.5 (mapping symbols).
"""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from testbed.arch import ARCHES, Arch, FrameRecord, Isa, PerArch
from testbed.image.file_bytes import file_content
from testbed.image.instruction_sets import attributes_say, instruction_sets
from testbed.image.model import Image, Section, Segment, Symbol
from testbed.words.errors import ImageError

_MOST_DEBUGDATA = 1 << 28  # bytes, unpacked
_MACHINES = PerArch({"x86_64": "EM_X86_64", "arm64": "EM_AARCH64", "arm32": "EM_ARM"})  # pyelftools' names
_NOT_SYMBOLS = ("STT_FILE", "STT_SECTION", "STT_TLS")


def read_elf(
    path: Path | str, frame_records: Mapping[str, FrameRecord] | None = None, *, content: bytes | None = None
) -> Image:
    """Read an ELF executable or shared object; with ``content``, these bytes as the file ``path``.

    Raises ImageError (file, offset, what is wrong) for anything that is not a readable ELF file of one of the
    catalogue's architectures.
    """
    path = Path(path)
    content = file_content(path) if content is None else content
    if content[:4] != b"\x7fELF":
        raise ImageError(path, 0, "not an ELF file (no 7f 45 4c 46)")
    try:
        return _image(path, ELFFile(io.BytesIO(content)), content, frame_records or {})
    except ImageError:
        raise
    except (
        ELFError,
        ConstructError,
        AssertionError,
        ValueError,
        KeyError,
        IndexError,
        OverflowError,
        TypeError,
        AttributeError,
        MemoryError,
        UnicodeDecodeError,
        zlib.error,
    ) as error:
        # pyelftools meets corrupt headers with whatever its parsing stumbles over.
        raise ImageError(path, 0, f"corrupt ELF structure: {error or type(error).__name__}") from error


def _image(path: Path, elf: Any, content: bytes, frame_records: Mapping[str, FrameRecord]) -> Image:
    machine = elf["e_machine"]
    arch = next((ARCHES[name] for name, known in _MACHINES.items() if known == machine), None)
    if arch is None or not elf.little_endian:
        known = ", ".join(_MACHINES.values())
        raise ImageError(path, 18, f"machine {machine} is none of the little-endian {known}")
    segments = []
    for number, segment in enumerate(elf.iter_segments("PT_LOAD")):
        header = segment.header
        if header.p_filesz and header.p_offset + header.p_filesz > len(content):
            raise ImageError(path, header.p_offset, f"segment {number} reaches past the end of the file")
        if header.p_memsz > 1 << 32:
            raise ImageError(path, header.p_offset, f"segment {number} claims {header.p_memsz:#x} bytes")
        flags = header.p_flags
        segments.append(
            Segment(
                header.p_vaddr,
                segment.data() if header.p_filesz else b"",
                header.p_memsz,
                bool(flags & 4),
                bool(flags & 2),
                bool(flags & 1),
                header.p_offset,
            )
        )
    sections = {}
    for section in elf.iter_sections():
        header = section.header
        if not section.name or header.sh_type in ("SHT_NOBITS", "SHT_NULL"):
            continue
        if header.sh_offset + header.sh_size > len(content):
            raise ImageError(path, header.sh_offset, f"section {section.name} reaches past the end of the file")
        sections[section.name] = Section(section.name, header.sh_addr, header.sh_offset, section.data())
    read = _symbols(elf, arch)
    if ".gnu_debugdata" in sections:
        read = _with_debugdata(path, sections[".gnu_debugdata"], arch, read)
    marks = instruction_sets(
        arch, read.marks, read.functions, sections, elf["e_entry"], attributes_say(path, sections, arch)
    )
    stack = next(elf.iter_segments("PT_GNU_STACK"), None)
    return Image(
        path,
        arch,
        arch.code_address(elf["e_entry"]),
        tuple(segments),
        sections,
        read.symbols,
        marks,
        frame_records,
        relocatable=elf["e_type"] == "ET_REL",
        executable_stack=stack is not None and bool(stack.header.p_flags & 1),
        content=content,
    )


@dataclass(frozen=True, slots=True)
class _SymbolTables:
    """Named symbols (functions first among equals, then global ones), the mapping symbols, and where functions begin.

    Of ``functions`` the addresses are as they are in the file, with the bit that says Thumb.
    """

    symbols: tuple[Symbol, ...]
    marks: Mapping[int, Isa]
    functions: tuple[int, ...]


def _with_debugdata(path: Path, section: Section, arch: Arch, own: _SymbolTables) -> _SymbolTables:
    """The symbols of a stripped file with those of its MiniDebugInfo: an ELF file with a symbol table, xz-compressed.

    Source: gdb manual, section "MiniDebugInfo". Raises ImageError for what cannot be unpacked.
    """
    try:
        unpacker = lzma.LZMADecompressor(memlimit=_MOST_DEBUGDATA)
        content = unpacker.decompress(section.data, _MOST_DEBUGDATA)
    except lzma.LZMAError as error:
        raise ImageError(path, section.offset, f"section .gnu_debugdata is not xz data: {error}") from error
    if not unpacker.eof:
        raise ImageError(
            path, section.offset, f"section .gnu_debugdata is cut off, or unpacks to over {_MOST_DEBUGDATA:#x} bytes"
        )
    more = _symbols(ELFFile(io.BytesIO(content)), arch)
    known = {(symbol.name, symbol.address) for symbol in own.symbols}
    both = [*own.symbols, *(symbol for symbol in more.symbols if (symbol.name, symbol.address) not in known)]
    return _SymbolTables(
        tuple(sorted(both, key=lambda s: (s.address, s.is_function, not s.local))),
        own.marks or more.marks,
        (*own.functions, *more.functions),
    )


def _symbols(elf: Any, arch: Arch) -> _SymbolTables:
    by_mark = {isa.mapping_symbol: isa for isa in arch.isas if isa.mapping_symbol}
    found: list[tuple[tuple[int, int, int, str], Symbol]] = []
    marks: dict[int, Isa] = {}
    functions: list[int] = []
    for table in elf.iter_sections():
        if not isinstance(table, SymbolTableSection):
            continue
        for entry in table.iter_symbols():
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
            found.append((order, Symbol(entry.name, address, entry["st_size"], is_function, local, weak, is_data)))
    unique = dict(sorted(found, key=lambda pair: pair[0]))
    return _SymbolTables(tuple(unique.values()), marks, tuple(functions))
