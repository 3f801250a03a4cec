"""A copy of an ELF file whose unwind tables are gone: what a tool says then, it got from code, symbols and the stack.

A section that is removed becomes an inactive one (SHT_NULL), so that the numbers of the others, which symbols name
them by, stay; its bytes are zeroed where they lie, and the program header that pointed at it becomes PT_NULL. All
else keeps its place and its bytes: code, data, symbols, debug information.

Source: System V ABI, chapters 4 and 5; LSB Core, section 10.5 (PT_GNU_EH_FRAME); ELF for the Arm Architecture,
section 5.4.1 (PT_ARM_EXIDX).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from testbed.build import cache
from testbed.image import Image
from testbed.image.file_bytes import FileBytes, file_content
from testbed.store import KEY_LENGTH
from testbed.words.budget import Account
from testbed.words.errors import ImageError
from testbed.words.table_formats import TABLE_FORMATS

TABLES = frozenset().union(*(each.sections for each in TABLE_FORMATS.values()))
# Program headers that lead to a table even where no section does: the section that each of them points at.
_POINTERS = {each.pointer: each.section for each in TABLE_FORMATS.values() if each.pointer}
_NULL, _NOBITS = 0, 8


@dataclass(frozen=True, slots=True)
class _HeaderLayout:
    """One class of ELF files: where fields of the ELF header are, and what the other headers are like."""

    word: int
    tables: tuple[int, int]  # e_phoff, e_shoff
    counts: tuple[int, int, int]  # e_phnum, e_shnum, e_shstrndx
    program_size: int
    section: str  # sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size
    section_size: int


_LAYOUTS = {
    1: _HeaderLayout(4, (28, 32), (44, 48, 50), 32, "<IIIIII", 40),
    2: _HeaderLayout(8, (32, 40), (56, 60, 62), 56, "<IIQQQQ", 64),
}


def without_tables(path: Path, *, removed: Collection[str] = TABLES) -> Path:
    """A kept copy of the ELF file ``path`` without the unwind sections ``removed``.

    ``removed`` are names as in `TABLES`; a section of one function (".ARM.exidx.text.f") goes with its kind. Raises
    ImageError for what is no ELF file, or whose headers reach past its end; BuildError where the cache cannot be
    written.
    """
    content = file_content(path)
    copy = _copy_name(
        path, "untabled", content, Path(__file__).read_bytes(), *(name.encode() for name in sorted(removed))
    )
    return cache.kept(copy, lambda: strip_tables(path, content, removed))


def file_of(image: Image) -> Path:
    """The image as a file: its own, if that still is what was read, else a kept copy (a trace file carries images)."""
    try:
        if not image.content or image.path.read_bytes() == image.content:
            return image.path
    except OSError:
        pass
    return cache.kept(_copy_name(image.path, "copy", image.content), lambda: image.content)


def _copy_name(path: Path, what: str, *parts: bytes) -> str:
    key = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:KEY_LENGTH]
    return f"{path.stem.split('.')[0]}.{what}.{key}.elf"


def strip_tables(path: Path, content: bytes, removed: Collection[str]) -> bytes:
    """The bytes of an ELF file, without the unwind sections ``removed``. Raises ImageError."""
    layout = _LAYOUTS.get(content[4]) if content[:4] == b"\x7fELF" and len(content) > 5 and content[5] == 1 else None
    if layout is None:
        raise ImageError(path, 0, "not a little-endian ELF file: only of those can the tables be taken out")
    file = FileBytes(path, content, 0, Account(path, len(content)))
    out = bytearray(content)
    programs, sections = (file.unsigned(at, layout.word, "the ELF header") for at in layout.tables)
    program_count, section_count, names = (file.unsigned(at, 2, "the ELF header") for at in layout.counts)
    for i in range(program_count):
        at, size = programs + i * layout.program_size, layout.program_size
        header = file.part(at, size, f"program header {i}")
        if _POINTERS.get(header.unsigned(0, 4, "its type")) in removed:
            out[at : at + size] = bytes(size)
    strings = _section(file, layout, sections, names, "the names of the sections") if section_count else None
    for i in range(section_count):
        section = _section(file, layout, sections, i, f"section {i}")
        name = strings.content.string(section.name, f"the name of section {i}") if strings and section.kind else ""
        if any(name == each or name.startswith(each + ".") for each in removed):
            out[section.content.start : section.content.start + len(section.content)] = bytes(len(section.content))
            out[section.at : section.at + layout.section_size] = bytes(layout.section_size)
    return bytes(out)


@dataclass(frozen=True, slots=True)
class _KeptSection:
    """One section: where its header lies (``at``), its name's place among the names, its type, what it holds."""

    at: int
    name: int
    kind: int
    content: FileBytes


def _section(file: FileBytes, layout: _HeaderLayout, table: int, number: int, what: str) -> _KeptSection:
    at = table + number * layout.section_size
    header = file.part(at, layout.section_size, f"the header of {what}")
    name, kind, _, _, offset, size = struct.unpack_from(layout.section, header.data)
    held = size if kind not in (_NULL, _NOBITS) else 0
    return _KeptSection(at, name, kind, file.part(offset if held else 0, held, what))
