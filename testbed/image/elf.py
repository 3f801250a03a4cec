"""ELF files as images. Reading is pyelftools'; what the bytes of an unwind section mean is not asked here.

Source: System V ABI, chapters 4 and 5; ELF for the Arm Architecture, section 5.5.5 (mapping symbols).
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from testbed.arch import ARCHES, Arch, FrameRecord, Isa, PerArch
from testbed.image.elf_companions import (
    CORRUPT,
    ElfParts,
    SymbolTables,
    elf_symbols,
    joined,
    section_data,
    sections_of,
    with_companions,
)
from testbed.image.file_bytes import FileBytes
from testbed.image.go_functions import SECTION, by_usual_names, go_symbols
from testbed.image.model import Image, Section, Segment
from testbed.image.separate_debug import DebugDirs
from testbed.words.budget import Account
from testbed.words.errors import ImageError

# Which instruction set the code at an address of an ELF file is in, where an architecture has several.
#
# Five kinds of evidence, strongest first. An address belongs to the nearest evidence at or below it; of several at one
# address the stronger kind says:
#
# 1. mapping symbols (``$a``, ``$t``): they are complete in a section that has any;
# 2. function symbols: bit 0 of the address of a Thumb function is set. One without the bit says A32 only in a section
#    without mapping symbols: assembly often has no ``.thumb_func``;
# 3. addresses of code elsewhere in the file that have the bit: the entry point, the exception index, the functions that
#    a loader calls (``.init_array``): static functions lie between them and the first one that is exported;
# 4. the code itself, of what the exception index names, in a file without mapping symbols: of A32 nearly every word has
#    the condition "always" in its upper bits, of Thumb one in ten. So compilers' code without a symbol is told apart,
#    as of stripped Rust programs, which are A32 between start files of Thumb;
# 5. for everything in a section below all of these: the first one of the section; in another, the build attributes (a
#    microcontroller's core has Thumb only), else the architecture's first instruction set.
#
# A stripped library has the second to fourth kind only, and microcontroller code often the fifth.
#
# Source: ELF for the Arm Architecture, sections 5.5.3 (Thumb bit) and 5.5.5 (mapping symbols); Exception Handling ABI
# for the Arm Architecture, section 6; Addenda to, and Errata in, the ABI for the Arm Architecture, section 3.3.5.2.

_ALWAYS, _TELLING = 14, 256  # the condition, in an instruction's upper bits; bytes of a function that tell enough
_CALLED_BY_LOADERS = (".preinit_array", ".init_array", ".fini_array")
_INDEX, _ATTRIBUTES = ".ARM.exidx", ".ARM.attributes"
# Tags of the build attributes: the scope of all code, names of processors, and the profile of the core.
_WHOLE_FILE, _TEXTS, _COMPATIBILITY, _CPU_ARCH_PROFILE = 1, (4, 5), 32, 7


def instruction_sets(
    arch: Arch,
    marks: Mapping[int, Isa],
    functions: Iterable[int],
    sections: Mapping[str, Section],
    entry: int,
    default: Isa | None = None,
) -> tuple[tuple[int, Isa], ...]:
    """(address, instruction set from there on), ascending.

    ``marks`` are the mapping symbols, ``functions`` the values of function symbols and ``entry`` that of the entry
    point, bit 0 as it is in the file. ``default`` is what the build attributes say, or None.
    """
    by_bit = {isa.address_bit: isa for isa in arch.isas}
    if len(by_bit) < 2:
        return tuple(sorted(marks.items()))
    plain, flagged = by_bit[0], by_bit[1]
    spans = sorted((s.address, s.address + s.filled) for s in sections.values() if s.address)
    marked = {_span(spans, address) for address in marks}
    found: dict[int, Isa] = {0: default} if default is not None else {}
    for value in (entry, *_indexed(sections), *_called_by_loaders(sections, spans)):
        if value & 1:
            found[value & ~1] = flagged
    for value in functions:
        if value & 1:
            found[value & ~1] = flagged
        elif value not in found and _span(spans, value) not in marked:
            found[value] = plain
    if default is None and not marks:
        found = {**_by_their_words(sections, plain, flagged), **found}
    for address in sorted(found):
        span = _span(spans, address)
        if span is not None and span not in marked:
            found.setdefault(span[0], found[address])
    found |= marks
    return tuple(sorted(found.items()))


def _by_their_words(sections: Mapping[str, Section], plain: Isa, flagged: Isa) -> dict[int, Isa]:
    """What the functions of the exception index are, by their code: of A32 nearly every word says "always" (1110)."""
    found: dict[int, Isa] = {}
    starts = sorted({value & ~1 for value in _indexed(sections)})
    for section in sections.values():
        begin, end = section.address, section.address + section.filled
        own = starts[bisect_left(starts, begin) : bisect_left(starts, end)] if begin else []
        for start, following in pairwise((*own, end)):
            first = (start + 3 & ~3) - begin
            tops = section.data[first : min(following - begin, first + _TELLING)][3::4]
            if tops:
                found[start] = plain if 2 * sum(top >> 4 == _ALWAYS for top in tops) > len(tops) else flagged
    return found


def _span(spans: list[tuple[int, int]], address: int) -> tuple[int, int] | None:
    """The section's addresses that an address is in; None: in no section, or there are none."""
    i = bisect_right(spans, (address, 1 << 64)) - 1
    return spans[i] if i >= 0 and address < spans[i][1] else None


def _called_by_loaders(sections: Mapping[str, Section], spans: list[tuple[int, int]]) -> Iterable[int]:
    """The functions that a loader calls before and after a program; an entry may be zero, or be filled in later."""
    for name in _CALLED_BY_LOADERS:
        if name in sections:
            words = sections[name].data
            for (value,) in struct.iter_unpack("<I", words[: len(words) // 4 * 4]):
                if _span(spans, value) is not None:
                    yield value


def _indexed(sections: Mapping[str, Section]) -> Iterable[int]:
    """The addresses of functions in the exception index: the first word of each entry, 31 bits relative to itself."""
    index = sections.get(_INDEX)
    if index is None:
        return
    whole = len(index.data) // 8 * 8
    for i, (word, _) in enumerate(struct.iter_unpack("<II", index.data[:whole])):
        offset = (word & 0x7FFF_FFFF) - ((word & 0x4000_0000) << 1)
        yield index.address + 8 * i + offset & 0xFFFF_FFFF


def attributes_say(path: Path, sections: Mapping[str, Section], arch: Arch, account: Account) -> Isa | None:
    """The only instruction set that the build attributes permit; None where they permit several or say nothing::

        section = 'A' {length:4 vendor:NTBS {scope:ULEB size:4 {tag:ULEB value}}}
        value   = NTBS of the tags 4 and 5 and of odd ones above 32, ULEB NTBS of tag 32, else ULEB

    Asked is Tag_CPU_arch_profile of the whole file: ``M`` is a microcontroller's. Attributes are a hint: a damaged
    section says nothing.
    """
    flagged = next((isa for isa in arch.isas if isa.address_bit), None)
    section = sections.get(_ATTRIBUTES)
    if section is None or flagged is None:
        return None
    content = FileBytes(path, section.data, section.offset, account)
    try:
        return flagged if _profile(content) == ord("M") else None
    except ImageError:
        return None


def _profile(content: FileBytes) -> int | None:
    at = 5 + len(content.string(5, "the vendor of the attributes").encode()) + 1
    scope, at = content.uleb(at, "the scope of the attributes")
    end = min(at - 1 + content.unsigned(at, 4, "the size of the attributes"), len(content))
    at += 4
    while scope == _WHOLE_FILE and at < end:
        tag, at = content.uleb(at, "an attribute's tag")
        value = 0
        if tag not in _TEXTS and not (tag > _COMPATIBILITY and tag & 1):
            value, at = content.uleb(at, "an attribute's value")
        if tag in (*_TEXTS, _COMPATIBILITY) or (tag > _COMPATIBILITY and tag & 1):
            at = content.data.index(0, at, end) + 1 if 0 in content.data[at:end] else end
        if tag == _CPU_ARCH_PROFILE:
            return value
    return None


_MACHINES = PerArch({"x86_64": "EM_X86_64", "arm64": "EM_AARCH64", "arm32": "EM_ARM"})  # pyelftools' names


def read_elf(
    path: Path, content: bytes, frame_records: Mapping[str, FrameRecord], debug: DebugDirs, account: Account
) -> Image:
    """An ELF executable or shared object, as `testbed.image.read_image` reads it.

    What a stripped file carries in ``.gnu_debugdata`` is read with it, and so is its separate debug file, if ``debug``
    says in which folders to look.
    """
    try:
        with account.working():
            return _image(path, ELFFile(io.BytesIO(content)), content, frame_records, debug, account)
    except ImageError:
        raise
    except CORRUPT as error:
        # pyelftools meets corrupt headers with whatever its parsing stumbles over.
        too_large = "an offset or a size is larger than any file" if isinstance(error, OverflowError) else ""
        raise ImageError(path, 0, f"corrupt ELF structure: {too_large or error or type(error).__name__}") from error


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
    if elf.elfclass != 8 * arch.word:
        raise ImageError(path, 4, f"{machine} with addresses of {elf.elfclass} bits: x32 and ILP32 are other platforms")
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
    symbols, sections = parts.symbols, by_usual_names(parts.sections)
    if SECTION in sections and ".symtab" not in sections:
        symbols = joined(symbols, SymbolTables(go_symbols(sections, account.share(SECTION)), {}, ()))
    return Image(
        path,
        arch,
        arch.code_address(elf["e_entry"]),
        segments,
        sections,
        symbols.symbols,
        marks,
        frame_records,
        relocatable=elf["e_type"] == "ET_REL",
        executable_stack=stack is not None and bool(stack.header.p_flags & 1),
        content=content,
        debug_file=parts.debug_file,
        notes=parts.notes,
        data_marks=symbols.data,
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
                memoryview(content)[header.p_offset : header.p_offset + header.p_filesz],
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
        own = memoryview(content)[header.sh_offset : header.sh_offset + header.sh_size]
        if not section.compressed:
            account.spend("mapped", header.sh_size, header.sh_offset)  # whoever asks for its data makes them
        held = section_data(section, account) if section.compressed else own
        sections[section.name] = Section(section.name, header.sh_addr, header.sh_offset, held)
    return sections
