"""Which instruction set the code at an address of an ELF file is in, where an architecture has several.

Four kinds of evidence, strongest first. An address belongs to the nearest evidence at or below it; of several at one
address the stronger kind says:

1. mapping symbols (``$a``, ``$t``): they are complete in a section that has any;
2. function symbols: bit 0 of the address of a Thumb function is set. One without the bit says A32 only in a section
   without mapping symbols: assembly often has no ``.thumb_func``;
3. addresses of code elsewhere in the file that have the bit: the entry point, the exception index, the functions that
   a loader calls (``.init_array``): linkers place them in front, and static functions lie between them and the first
   one that is exported;
4. for everything below all of these: the build attributes (a microcontroller's core has Thumb only), else the
   architecture's first instruction set.

A stripped library has the second and third kind only, and microcontroller code often the fourth.

Source: ELF for the Arm Architecture, sections 5.5.3 (Thumb bit) and 5.5.5 (mapping symbols); Exception Handling ABI
for the Arm Architecture, section 6; Addenda to, and Errata in, the ABI for the Arm Architecture, section 3.3.5.2.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from pathlib import Path

from testbed.arch import Arch, Isa
from testbed.image.file_bytes import FileBytes
from testbed.image.model import Section
from testbed.words.budget import Account
from testbed.words.errors import ImageError

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
    spans = sorted((s.address, s.address + len(s.data)) for s in sections.values() if s.address)
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
    found |= marks
    return tuple(sorted(found.items()))


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
