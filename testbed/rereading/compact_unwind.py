"""Apple's ``__unwind_info``: the encoding of the function that a pc belongs to, and what it says.

::

    version 1, then where and how many: common encodings, personalities, first-level entries
    first level: first function, its page, ...; the last one is the end of all
    page, kind 2: functions and encodings; kind 3: 24 bits of function from the first one, 8 of an encoding's number

Source: LLVM, ``include/mach-o/compact_unwind_encoding.h``, and ``libunwind/src/CompactUnwinder.hpp`` for what is done.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from testbed.arch import PerArch
from testbed.image import Image
from testbed.rereading.dwarf import FrameSection, SecondReader
from testbed.rereading.rows import NoRow, Plus, SecondRow, SecondRule, Word

_SECTION, _FRAMES = "__TEXT,__unwind_info", "__TEXT,__eh_frame"
_REGULAR, _COMPRESSED = 2, 3


class _EncodedFunction(NamedTuple):
    """What the table says of one function; addresses are offsets from the image's header."""

    start: int
    end: int
    encoding: int
    place: int


def compact_unwind(image: Image) -> SecondReader:
    """The rows of ``__unwind_info``, one for each function; those of ``__eh_frame`` where it says so."""
    data, arch, base, segments = image.sections[_SECTION].data, image.arch, image.base, image.segments
    dwarf_mode = _DWARF_MODES[arch.name]
    meaning = _MEANINGS[arch.name]
    if dwarf_mode is None or meaning is None:
        raise ValueError(f"there are no compact encodings of {arch.name}")
    frames = FrameSection(image, _FRAMES, True) if _FRAMES in image.sections else None

    def code_word(address: int) -> int:
        """The 32-bit operand in the code at an address."""
        for segment in segments:
            if segment.address <= address <= segment.address + len(segment.data) - 4:
                return int.from_bytes(segment.data[address - segment.address :][:4], "little")
        raise IndexError(f"no code at {address:#x}")

    def row_at(pc: int) -> SecondRow | NoRow:
        found = _function_at(data, pc - base)
        if found is None:
            return NoRow(f"no function of __unwind_info covers {pc:#x}")
        mode = found.encoding >> 24 & 0x0F
        if not mode:
            return NoRow("the encoding says that there is no unwind information")
        if mode == dwarf_mode:
            if frames is None:
                return NoRow("the encoding defers to __eh_frame, which is not there")
            # A CIE stands at offset 0, so no FDE does: there the section is to be searched.
            offset = found.encoding & 0xFF_FFFF
            return frames.row_of(frames.place(offset), pc) if offset else frames.row_at(pc)
        cfa, returns, registers = meaning(found.encoding, mode, base + found.start, code_word)
        return SecondRow(arch, base + found.start, base + found.end, found.place, cfa, returns, registers)

    return row_at


def _function_at(data: bytes, offset: int) -> _EncodedFunction | None:
    version, common, count, _, _, index, pages = struct.unpack_from("<7I", data)
    if version != 1:
        raise ValueError(f"version {version}")
    firsts = [struct.unpack_from("<II", data, index + 12 * i) for i in range(pages)]
    number = next((i for i in range(pages - 1) if firsts[i][0] <= offset < firsts[i + 1][0]), None)
    if number is None or not firsts[number][1]:
        return None
    first, page = firsts[number]
    kind, entries_at, entries = struct.unpack_from("<IHH", data, page)
    size = {_REGULAR: 8, _COMPRESSED: 4}[kind]
    starts = [struct.unpack_from("<I", data, page + entries_at + size * i)[0] for i in range(entries)]
    if kind == _COMPRESSED:
        codes = [start >> 24 for start in starts]
        starts = [first + (start & 0xFF_FFFF) for start in starts]
    i = max((i for i in range(entries) if starts[i] <= offset), default=None)
    if i is None:
        return None
    place = page + entries_at + size * i
    if kind == _REGULAR:
        (encoding,) = struct.unpack_from("<I", data, place + 4)
    elif codes[i] < count:
        (encoding,) = struct.unpack_from("<I", data, common + 4 * codes[i])
    else:
        own, _ = struct.unpack_from("<HH", data, page + 8)
        (encoding,) = struct.unpack_from("<I", data, page + own + 4 * (codes[i] - count))
    end = starts[i + 1] if i + 1 < entries else firsts[number + 1][0]
    return _EncodedFunction(starts[i], end, encoding, place)


_FrameRules = tuple[SecondRule, SecondRule, dict[str, SecondRule]]  # the CFA, the return address, the saved registers


def _saved(base: str, offset: int, names: Sequence[str | None], step: int = 8) -> dict[str, SecondRule]:
    """Registers in memory, one after the other; None is a gap."""
    return {name: Word(Plus(base, offset + step * i), 8) for i, name in enumerate(names) if name}


_NUMBERED = ("rbx", "r12", "r13", "r14", "r15", "rbp")  # from 1 on


def _x86_64(encoding: int, mode: int, start: int, code_word: Callable[[int], int]) -> _FrameRules:
    if mode == 1:  # a frame with rbp
        saved = [(None, *_NUMBERED)[encoding >> 3 * i & 7] for i in range(5)]
        registers = _saved("rbp", -8 * (encoding >> 16 & 0xFF), saved) | _saved("rbp", 0, ["rbp"])
        return Plus("rbp", 16), Word(Plus("rbp", 8), 8), registers
    if mode not in (2, 3):
        raise ValueError(f"a mode {mode}")
    size = encoding >> 16 & 0xFF
    # Mode 3: too large for a byte, so it is where `sub rsp, size` has its operand; pushes before that are counted too.
    size = 8 * size if mode == 2 else code_word(start + size) + 8 * (encoding >> 13 & 7)
    names = _permuted(encoding >> 10 & 7, encoding & 0x3FF)
    return Plus("rsp", size), Word(Plus("rsp", size - 8), 8), _saved("rsp", size - 8 - 8 * len(names), names)


def _permuted(count: int, number: int) -> list[str]:
    """Registers in the order of their places: each digit chooses one of those that are left, the radix is how many.

    The last of six has no choice, so it has no digit.
    """
    left, digits = list(_NUMBERED), []
    for i in reversed(range(min(count, 5))):
        number, digit = divmod(number, 6 - i)
        digits.append(digit)
    return [left.pop(digit) for digit in [*reversed(digits), *[0] * (count - len(digits))]]


_PAIRS = (*((bit, f"x{19 + 2 * bit}", f"x{20 + 2 * bit}") for bit in range(5)),)
_PAIRS += (*((8 + bit, f"d{8 + 2 * bit}", f"d{9 + 2 * bit}") for bit in range(4)),)


def _arm64(encoding: int, mode: int, start: int, code_word: Callable[[int], int]) -> _FrameRules:
    names = [name for bit, *pair in _PAIRS if encoding >> bit & 1 for name in pair]
    if mode == 4:  # a frame record
        return Plus("x29", 16), Word(Plus("x29", 8), 8), _saved("x29", -8, names, -8) | _saved("x29", 0, ["x29"])
    if mode != 2:
        raise ValueError(f"a mode {mode}")
    size = 16 * (encoding >> 12 & 0xFFF)
    return Plus("sp", size), Plus("x30"), _saved("sp", size - 8, names, -8)


_NONE = "there are no Mach-O files of it"
_DWARF_MODES = PerArch[int | None]({"x86_64": 4, "arm64": 3, "arm32": None}, because={"arm32": _NONE})
_MEANINGS = PerArch[Callable[[int, int, int, Callable[[int], int]], _FrameRules] | None](
    {"x86_64": _x86_64, "arm64": _arm64, "arm32": None}, because={"arm32": _NONE}
)
