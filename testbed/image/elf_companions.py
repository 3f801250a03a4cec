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
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from testbed.arch import Arch
from testbed.image.elf_symbols import SymbolTables, elf_symbols, joined
from testbed.image.model import Section, Segment
from testbed.image.separate_debug import ALTERNATE, BUILD_ID, DebugDirs, alternate_name, find_debug_file, gnu_build_id
from testbed.words.budget import Account
from testbed.words.errors import BudgetExceeded, ImageError

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
