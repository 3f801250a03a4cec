"""ELF files as images. Reading is pyelftools'; what the bytes of an unwind section mean is not asked here.

Source: System V ABI, chapters 4 and 5; ELF for the Arm Architecture, section 5.5.5 (mapping symbols).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from testbed.arch import ARCHES, FrameRecord, PerArch
from testbed.image.elf_companions import CORRUPT, ElfParts, section_data, sections_of, with_companions
from testbed.image.elf_symbols import elf_symbols
from testbed.image.file_bytes import file_content
from testbed.image.instruction_sets import attributes_say, instruction_sets
from testbed.image.model import Image, Section, Segment
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.words.budget import Account, Budget
from testbed.words.errors import ImageError

_MACHINES = PerArch({"x86_64": "EM_X86_64", "arm64": "EM_AARCH64", "arm32": "EM_ARM"})  # pyelftools' names


def read_elf(
    path: Path | str,
    frame_records: Mapping[str, FrameRecord] | None = None,
    *,
    content: bytes | None = None,
    debug: DebugDirs = NOWHERE,
    budget: Budget | None = None,
) -> Image:
    """Read an ELF executable or shared object; with ``content``, these bytes as the file ``path``.

    What a stripped file carries in ``.gnu_debugdata`` is read with it, and so is its separate debug file, if ``debug``
    says in which folders to look.

    Raises ImageError (file, offset, what is wrong) for anything that is not a readable ELF file of one of the
    catalogue's architectures; BudgetExceeded for one that costs more than ``budget``.
    """
    path = Path(path)
    content = file_content(path) if content is None else content
    account = Account(path, len(content), budget)
    if content[:4] != b"\x7fELF":
        raise ImageError(path, 0, "not an ELF file (no 7f 45 4c 46)")
    try:
        with account.working():
            return _image(path, ELFFile(io.BytesIO(content)), content, frame_records or {}, debug, account)
    except ImageError:
        raise
    except CORRUPT as error:
        # pyelftools meets corrupt headers with whatever its parsing stumbles over.
        raise ImageError(path, 0, f"corrupt ELF structure: {error or type(error).__name__}") from error


def _image(
    path: Path,
    elf: Any,
    content: bytes,
    frame_records: Mapping[str, FrameRecord],
    debug: DebugDirs,
    account: Account,
) -> Image:
    machine = elf["e_machine"]
    arch = next((ARCHES[name] for name, known in _MACHINES.items() if known == machine), None)
    if arch is None or not elf.little_endian:
        known = ", ".join(_MACHINES.values())
        raise ImageError(path, 18, f"machine {machine} is none of the little-endian {known}")
    segments = _segments(path, elf, content, account)
    own = ElfParts(arch, segments, _sections(path, elf, content, account), elf_symbols(elf, arch, account), account)
    parts = with_companions(path, own, debug)
    marks = instruction_sets(
        arch,
        parts.symbols.marks,
        parts.symbols.functions,
        parts.sections,
        elf["e_entry"],
        attributes_say(path, parts.sections, arch, account),
    )
    stack = next(elf.iter_segments("PT_GNU_STACK"), None)
    return Image(
        path,
        arch,
        arch.code_address(elf["e_entry"]),
        segments,
        parts.sections,
        parts.symbols.symbols,
        marks,
        frame_records,
        relocatable=elf["e_type"] == "ET_REL",
        executable_stack=stack is not None and bool(stack.header.p_flags & 1),
        content=content,
        debug_file=parts.debug_file,
        notes=parts.notes,
        account=account,
    )


def _segments(path: Path, elf: Any, content: bytes, account: Account) -> tuple[Segment, ...]:
    segments = []
    account.spend("parts", elf.num_segments(), elf["e_phoff"])
    account.spend("steps", elf.num_segments() * elf.num_sections(), elf["e_phoff"])  # pyelftools pairs them
    for number, segment in enumerate(elf.iter_segments("PT_LOAD")):
        header = segment.header
        if header.p_filesz and header.p_offset + header.p_filesz > len(content):
            raise ImageError(path, header.p_offset, f"segment {number} reaches past the end of the file")
        if header.p_memsz > 1 << 32:
            raise ImageError(path, header.p_offset, f"segment {number} claims {header.p_memsz:#x} bytes")
        account.spend("mapped", header.p_filesz, header.p_offset)
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
    return tuple(segments)


def _sections(path: Path, elf: Any, content: bytes, account: Account) -> dict[str, Section]:
    sections = {}
    for section in sections_of(elf, account):
        header = section.header
        if not section.name or header.sh_type in ("SHT_NOBITS", "SHT_NULL"):
            continue
        if header.sh_offset + header.sh_size > len(content):
            raise ImageError(path, header.sh_offset, f"section {section.name} reaches past the end of the file")
        data = section_data(section, account)
        sections[section.name] = Section(section.name, header.sh_addr, header.sh_offset, data)
    return sections
