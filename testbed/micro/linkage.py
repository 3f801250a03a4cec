"""The slots of a procedure linkage table, by the names of the functions that they lead to.

A slot loads an address from a word that a dynamic relocation fills in, and jumps there. Which word, its instructions
say: on x86_64 one, `jmp *slot(%rip)`; on arm64 two, `adrp x16, page; ldr x17, [x16, #low]`; on arm32 three,
`add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!`. A linker may begin a slot with a landing pad, or with `bx pc; nop`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from testbed.arch import PerArch
from testbed.image import Image, Section, Symbol
from testbed.micro.relocations import RelocationKind, dynamic_relocations
from testbed.words.errors import TestbedError

_PltEntry = tuple[int, int, int]  # where it begins and ends, and the word that it loads from


def with_imports(image: Image) -> Image:
    """The image with a symbol ``name@plt`` for each slot that can be told."""
    found = sorted((*image.symbols, *_slots(image)), key=lambda symbol: symbol.address)
    return replace(image, symbols=tuple(found))


def _slots(image: Image) -> Iterator[Symbol]:
    tables = [section for section in image.sections.values() if section.name.startswith((".plt", ".iplt"))]
    if not tables:
        return
    try:
        words = {each.place: each.symbol for each in dynamic_relocations(image) if each.kind is RelocationKind.SLOT}
    except TestbedError:
        return
    for section in tables:
        for start, end, word in _READERS[image.arch.name](section):
            if name := words.get(word):
                yield Symbol(f"{name}@plt", start, end - start, True)


def _x86_64(section: Section) -> Iterator[_PltEntry]:
    data, at = section.data, section.data.find(b"\xff\x25")
    while 0 <= at <= len(data) - 6:
        end = at + 6
        start = at - (data[at - 1 : at] == b"\xf2")  # bnd
        start -= 4 * (data[max(start - 4, 0) : start] == b"\xf3\x0f\x1e\xfa")  # endbr64
        (distance,) = struct.unpack_from("<i", data, at + 2)
        yield section.address + start, section.address + end, section.address + end + distance
        at = data.find(b"\xff\x25", end)


def _arm64(section: Section) -> Iterator[_PltEntry]:
    words = struct.unpack(f"<{len(section.data) // 4}I", section.data[: len(section.data) // 4 * 4])
    for k, (page, load) in enumerate(pairwise(words)):
        if page & 0x9F00_001F != 0x9000_0010 or load & 0xFFC0_03FF != 0xF940_0211:
            continue
        distance = (page >> 5 & 0x7_FFFF) << 2 | page >> 29 & 3
        distance -= (distance & 1 << 20) << 1
        place = section.address + 4 * k
        start = place - 4 * (k > 0 and words[k - 1] == 0xD503_245F)  # bti c
        yield start, place + 16, (place & ~0xFFF) + (distance << 12) + (load >> 10 & 0xFFF) * 8


def _arm32(section: Section) -> Iterator[_PltEntry]:
    words = struct.unpack(f"<{len(section.data) // 4}I", section.data[: len(section.data) // 4 * 4])
    for k, (first, second, load) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        if (first >> 12, second >> 12, load >> 12) != (0xE28FC, 0xE28CC, 0xE5BCF):
            continue
        place = section.address + 4 * k
        start = place - 4 * (k > 0 and words[k - 1] in (0x46C0_4778, 0xE7FD_4778))  # bx pc; nop, or b .-2
        word = place + 8 + _rotated(first) + _rotated(second) + (load & 0xFFF)
        yield start, place + 12, word & 0xFFFF_FFFF


def _rotated(instruction: int) -> int:
    """The immediate operand: eight bits, rotated to the right."""
    value, by = instruction & 0xFF, (instruction >> 8 & 0xF) * 2
    return (value >> by | value << 32 - by) & 0xFFFF_FFFF


_READERS: Mapping[str, Callable[[Section], Iterator[_PltEntry]]] = PerArch(
    {"x86_64": _x86_64, "arm64": _arm64, "arm32": _arm32}
)
