"""Compact unwind encodings: 32 bits that say how one function's finished frame is undone.

Common to all (LLVM, ``include/mach-o/compact_unwind_encoding.h``): bits 24-27 mode, bits 28-31 flags for exceptions;
an encoding of 0 says that nothing is known. With W = 8 bytes::

    arm64
      2 frameless   bits 12-23 size of the frame in units of 16 bytes; CFA = sp + size, return address in x30
      3 DWARF       bits 0-23 offset of the FDE in __eh_frame
      4 frame       CFA = x29 + 2W, x29 at CFA - 2W, x30 at CFA - W
      frame, frameless: bits 0-4 the pairs x19/x20 ... x27/x28, bits 8-11 the pairs d8/d9 ... d14/d15 are saved, one
      register below the other in this order, below the frame record or the CFA

    x86_64
      1 rbp frame   CFA = rbp + 2W, rbp at CFA - 2W; bits 16-23 distance in words from rbp down to the saved registers,
                    bits 0-14 five of them in 3 bits each, upwards from there; 0 is none
      2 immediate   CFA = rsp + bits 16-23 in words
      3 indirect    CFA = rsp + the 4-byte immediate in the function's code at offset bits 16-23 + bits 13-15 in words
      2, 3          bits 10-12 number of saved registers, bits 0-9 which, as a permutation; they lie one above the
                    other, the last one below the return address
      4 DWARF       as above
      in all of them the return address is at CFA - W
      registers are numbered rbx 1, r12 2, r13 3, r14 4, r15 5, rbp 6

A frameless arm64 function that saves registers is a leaf with many values (a decoder's inner loop; `busy_leaf` of the
corpus): ``stp x20, x19, [sp, #32]`` in a frame of 48 bytes puts x19 at CFA - W. LLVM's libunwind 22 reads it one word
higher, at the CFA, and symbolic 13.9 restores no register there: neither meets one in an exception, a leaf throws none.

A permutation of n of 6 numbers: digit i, of base 6 - i, counts the numbers below the i-th that are still unused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from testbed.arch import PerArch
from testbed.contract.rows import AtCfa, RegisterPlus, Rule, UnwindRow
from testbed.image import Image
from testbed.words.errors import MalformedTable

_W = 8
_IMMEDIATE = 4  # bytes of the operand of `sub rsp, imm32`


@dataclass(frozen=True, slots=True)
class Encoded:
    """An entry of the table: ``encoding`` for the function at the link-time pcs ``[start, end)``.

    ``offset`` is where the entry stands in its section. A linker gives neighbours with equal encodings one entry.
    """

    start: int
    end: int
    encoding: int
    offset: int


@dataclass(frozen=True, slots=True)
class Dwarf:
    """The mode that defers: the FDE at this offset of `__eh_frame` has the rows.

    No FDE stands at 0, a CIE does: there the section is to be searched for the function (so LLVM's libunwind; lld 14
    writes no other offset).
    """

    offset: int


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """One function's frame: its CFA, and where registers are saved, as offsets from the CFA."""

    cfa: RegisterPlus
    saved: Mapping[str, int]


_Decoded = FrameLayout | Dwarf | str  # str: what is wrong with the encoding


def encoded_row(image: Image, entry: Encoded, section: str) -> UnwindRow | Dwarf | None:
    """The row of an entry, or where it is, or None: nothing is known. Raises MalformedTable for an encoding that
    its architecture does not have."""
    if not entry.encoding:
        return None
    layout_of = _LAYOUTS[image.arch.name]
    found = layout_of(image, entry) if layout_of else f"{image.arch} has no compact encodings here"
    if isinstance(found, str):
        raise MalformedTable(section, entry.offset, f"encoding {entry.encoding:#010x}: {found}")
    if isinstance(found, Dwarf):
        return found
    rules: dict[str, Rule] = {name: AtCfa(offset) for name, offset in found.saved.items()}
    found_by = f"{section}+{entry.offset:#x}"
    return UnwindRow(entry.start, entry.end, found.cfa, rules, image.arch.return_address, found_by=found_by)


def _mode(encoding: int) -> int:
    return encoding >> 24 & 0xF


_ARM64_PAIRS = (
    *((1 << i, (f"x{19 + 2 * i}", f"x{20 + 2 * i}")) for i in range(5)),
    *((0x100 << i, (f"d{8 + 2 * i}", f"d{9 + 2 * i}")) for i in range(4)),
)


def _arm64(image: Image, entry: Encoded) -> _Decoded:
    encoding = entry.encoding
    saved: dict[str, int] = {}
    match _mode(encoding):
        case 2:
            cfa = RegisterPlus("sp", (encoding >> 12 & 0xFFF) * 16)
        case 3:
            return Dwarf(encoding & 0xFF_FFFF)
        case 4:
            cfa = RegisterPlus("x29", 2 * _W)
            saved = {"x29": -2 * _W, "x30": -_W}
        case mode:
            return f"mode {mode} is none of 2, 3, 4"
    below = -_W * len(saved)
    for bit, pair in _ARM64_PAIRS:
        if encoding & bit:
            for name in pair:
                below -= _W
                saved[name] = below
    if _mode(encoding) != 4 and -below > cfa.offset:
        return f"{-below} bytes of saved registers in a frame of {cfa.offset}"
    return FrameLayout(cfa, saved)


_X86_64 = (None, "rbx", "r12", "r13", "r14", "r15", "rbp")
_MOST_SAVED = 6


def _x86_64(image: Image, entry: Encoded) -> _Decoded:
    encoding = entry.encoding
    field = encoding >> 16 & 0xFF
    match _mode(encoding):
        case 1:
            return _x86_64_frame(encoding, field)
        case 2:
            return _x86_64_frameless(encoding, field * _W)
        case 3:
            immediate = image.bytes_at(entry.start + field, _IMMEDIATE)
            if len(immediate) < _IMMEDIATE:
                return f"no code at {entry.start + field:#x}, where the size of the frame should be"
            size = int.from_bytes(immediate, "little") + (encoding >> 13 & 7) * _W
            return _x86_64_frameless(encoding, size)
        case 4:
            return Dwarf(encoding & 0xFF_FFFF)
        case mode:
            return f"mode {mode} is none of 1 to 4"


def _x86_64_frame(encoding: int, words: int) -> _Decoded:
    saved = {"rip": -_W, "rbp": -2 * _W}
    for i in range(5):
        number = encoding >> 3 * i & 7
        if not number:
            continue
        name = _X86_64[number] if number < len(_X86_64) else None
        if name is None or name in saved:
            return f"register {number} cannot be saved in place {i}"
        if i >= words:
            return f"register {number} would be saved at rbp or above"
        saved[name] = (i - words - 2) * _W
    return FrameLayout(RegisterPlus("rbp", 2 * _W), saved)


def _x86_64_frameless(encoding: int, size: int) -> _Decoded:
    count = encoding >> 10 & 7
    if count > _MOST_SAVED:
        return f"{count} saved registers of {_MOST_SAVED}"
    if size < (count + 1) * _W:
        return f"{count} saved registers and a return address in a frame of {size} bytes"
    order = permutation(encoding & 0x3FF, count)
    if order is None:
        return f"there is no permutation {encoding & 0x3FF} of {count} registers"
    saved = {"rip": -_W}
    for i, number in enumerate(order):
        name = _X86_64[number]
        assert name is not None
        saved[name] = -_W * (1 + count - i)
    return FrameLayout(RegisterPlus("rsp", size), saved)


def permutation(number: int, count: int) -> tuple[int, ...] | None:
    """The ``count`` register numbers, of 1 to 6, that a permutation number stands for; None: it is too big."""
    digits = []
    for base in range(_MOST_SAVED - count + 1, _MOST_SAVED + 1):  # the last digit has the smallest base
        number, digit = divmod(number, base)
        digits.append(digit)
    if number:
        return None
    unused = list(range(1, _MOST_SAVED + 1))
    return tuple(unused.pop(digit) for digit in reversed(digits))


# An encoding means what its processor's part of the header file says.
_LAYOUTS = PerArch[Callable[[Image, Encoded], _Decoded] | None](
    {"x86_64": _x86_64, "arm64": _arm64, "arm32": None},
    because={"arm32": "there are no 64-bit Mach-O files of it"},
)
