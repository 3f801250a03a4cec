"""``.ARM.exidx`` and ``.ARM.extab`` (Exception Handling ABI for the Arm Architecture, sections 5, 6 and 9.3).

An index entry is two words: the function's address (as a 31-bit distance from the word), then what to do there: 1
(EXIDX_CANTUNWIND), the opcodes themselves (compact model 0, top bit set), or the 31-bit distance to an
``.ARM.extab`` entry. Opcodes undo the prologue, so the last directive's come first; in a word, the first opcode byte
is the most significant one. Among equivalent opcodes this takes those that LLVM's assembler takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.build import directives as d
from testbed.build.expressions import Place
from testbed.build.tables.cfi_program import uleb128

_CANTUNWIND = 1
_FINISH = 0xB0
_LR = 1 << 14
_PC, _SP = 15, 13


@dataclass(frozen=True, slots=True)
class HandledFunction:
    """What stands between ``.fnstart`` and ``.fnend``. Names are resolved: words and personality are numbers."""

    place: Place
    start: int
    rules: tuple[tuple[Place, d.EhabiRule], ...] = ()
    cant_unwind: bool = False
    personality: int | None = None  # address of a routine of the program's own
    model: int | None = None  # the compact model asked for
    handler_data: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ExceptionTables:
    """The bytes of the two sections."""

    index: bytes
    table: bytes


def write_exception_tables(
    functions: Sequence[HandledFunction], end: int, index_address: int, table_address: int
) -> ExceptionTables:
    """Both sections, sorted by function; what lies behind ``end`` (the code's end) cannot be unwound."""
    index, table = b"", b""
    for function in sorted(functions, key=lambda f: f.start):
        at = index_address + len(index)
        words = () if function.cant_unwind else _words(function, table_address + len(table))
        if not words:
            second = _CANTUNWIND
        elif len(words) == 1 and words[0] >> 31:
            second = words[0]
        else:
            second = prel31(table_address + len(table), at + 4)
            table += b"".join(word.to_bytes(4, "little") for word in words)
        index += prel31(function.start, at).to_bytes(4, "little") + second.to_bytes(4, "little")
    at = index_address + len(index)
    index += prel31(end, at).to_bytes(4, "little") + _CANTUNWIND.to_bytes(4, "little")
    return ExceptionTables(index, table)


def prel31(target: int, place: int) -> int:
    """The distance from ``place`` to ``target`` in 31 bits, the top bit clear."""
    return (target - place) & 0x7FFF_FFFF


def _words(function: HandledFunction, address: int) -> tuple[int, ...]:
    """The words of an entry at ``address``. One word with its top bit set goes into the index itself."""
    opcodes = unwind_opcodes(function)
    if function.personality is not None:
        return (
            prel31(function.personality, address),
            *_packed(_counted(b"", opcodes, function)),
            *(function.handler_data or ()),
        )
    model = function.model if function.model is not None else (0 if len(opcodes) <= 3 else 1)
    if model == 0 and len(opcodes) > 3:
        raise function.place.error(f"{len(opcodes)} bytes of opcodes do not fit compact model 0, which holds 3")
    header = bytes([0x80 | model])
    if model == 0:
        words = _packed(header + opcodes)
        # A single word means "in the index"; with handler data it must stand in the table.
        return words if function.handler_data is None else (*words, *function.handler_data)
    # Models 1 and 2 are followed by a list of descriptors, ended by a zero word (section 9.2).
    data = (0,) if function.handler_data is None else function.handler_data
    return (*_packed(_counted(header, opcodes, function)), *data)


def _counted(header: bytes, opcodes: bytes, function: HandledFunction) -> bytes:
    """The header, how many words follow the first one, and the opcodes."""
    more = (len(header) + 1 + len(opcodes) + 3) // 4 - 1
    if more > 0xFF:
        raise function.place.error(f"{len(opcodes)} bytes of opcodes are more than an entry holds")
    return header + bytes([more]) + opcodes


def _packed(content: bytes) -> tuple[int, ...]:
    content += bytes([_FINISH]) * (-len(content) % 4)
    return tuple(int.from_bytes(content[i : i + 4], "big") for i in range(0, len(content), 4))


def unwind_opcodes(function: HandledFunction) -> bytes:
    """The opcodes that undo a function's prologue, in the order in which they are executed.

    Counting from the stack pointer at entry (0), ``sp`` is where the prologue has it, ``unflushed`` what it moved
    since the last save, ``frame`` the register that the frame is found from and where it points.
    """
    undo: list[bytes] = []  # in the order of the prologue
    sp, unflushed = 0, 0
    frame: tuple[int, int] | None = None
    found_from_frame = False
    for place, rule in function.rules:
        match rule:
            case d.Pad(size):
                sp -= size
                unflushed += size
                continue
            case d.SetFp(register, base, offset):
                if base == _SP:
                    frame = (register, sp + offset)
                elif frame is not None and base == frame[0]:
                    frame = (register, frame[1] + offset)
                else:
                    raise place.error("a frame pointer is set from sp or from the frame pointer")
                if register in (_SP, _PC):
                    raise place.error("sp and pc are no frame pointers")
                found_from_frame = True
                continue
        # What moved sp before this save is undone after it.
        undo += _moves(unflushed, place)
        unflushed = 0
        match rule:
            case d.Save(mask):
                sp -= 4 * mask.bit_count()
                undo += _pops(mask)
            case d.VSave(mask):
                sp -= 8 * mask.bit_count()
                undo += _vfp_pops(mask)
            case d.MovSp(register, offset):
                if register in (_SP, _PC):
                    raise place.error("sp and pc cannot hold a copy of sp")
                frame = (register, sp + offset)
                undo.append(bytes([0x90 | register]))
            case d.UnwindRaw(offset, content):
                sp -= offset
                undo.append(content)
    if frame is not None and found_from_frame:
        register, at = frame
        last_save = sp + unflushed
        undo += _moves(last_save - at, function.place)
        undo.append(bytes([0x90 | register]))
    else:
        undo += _moves(unflushed, function.place)
    return b"".join(reversed(undo))


def _moves(distance: int, place: Place) -> list[bytes]:
    """``vsp = vsp + distance``: 00xxxxxx and 01xxxxxx move up to 0x100 each, 1011 0010 takes an ULEB128."""
    if distance % 4:
        raise place.error(f"the stack pointer moves by {distance} bytes: not a multiple of 4")
    if distance > 0x200:
        return [b"\xb2" + uleb128((distance - 0x204) >> 2)]
    if distance > 0x100:
        return [b"\x3f", bytes([(distance - 0x100 - 4) >> 2])]
    if distance > 0:
        return [bytes([(distance - 4) >> 2])]
    undo = []
    if distance < -0x100 * 64:
        raise place.error(f"the stack pointer moves up by {-distance} bytes: there is no short opcode for that")
    while distance < -0x100:
        undo.append(b"\x7f")
        distance += 0x100
    return [*undo, bytes([0x40 | ((-distance - 4) >> 2)])] if distance else undo


def _pops(mask: int) -> list[bytes]:
    """Pops of core registers: the one-byte form for r4-r(4+n) with or without lr, else by mask; r0-r3 apart.

    sp among them is no push but a signal's frame, which holds every register.
    """
    undo = []
    high, low = mask & 0xFFF0, mask & 0xF
    if high:
        count = 0
        while count < 8 and high & (1 << (4 + count)):
            count += 1
        run = ((1 << count) - 1) << 4
        if count and high & ~_LR == run:
            undo.append(bytes([(0xA8 if high & _LR else 0xA0) | (count - 1)]))
        else:
            undo.append(bytes([0x80 | (high >> 12), (high >> 4) & 0xFF]))
    if low:
        undo.append(bytes([0xB1, low]))
    return undo


def _vfp_pops(mask: int) -> list[bytes]:
    """Pops of d registers, one for each run of neighbours, the highest first in the prologue's order."""
    undo = []
    for half, opcode in ((mask >> 16, 0xC8), (mask & 0xFFFF, 0xC9)):
        while half:
            top = half.bit_length()
            count = 1
            while count < top and half & (1 << (top - 1 - count)):
                count += 1
            undo.append(bytes([opcode, ((top - count) << 4) | (count - 1)]))
            half &= (1 << (top - count)) - 1
    return undo
