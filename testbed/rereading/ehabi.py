"""`.ARM.exidx` and `.ARM.extab`: the instructions of the entry that a pc belongs to, executed on rules.

Source: Exception Handling ABI for the Arm Architecture (EHABI32, 2024Q3), sections 6, 7 and 10.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from testbed.arch import Arch
from testbed.image import Image, Segment
from testbed.rereading.dwarf import SecondReader
from testbed.rereading.rows import Lost, NoRow, Plus, SecondRow, SecondRule, Word
from testbed.rereading.table_bytes import TableBytes

_CANTUNWIND = 1
_COMPACT = 1 << 31
_MOST_WORDS = 2 + 255  # of an entry: the personality routine, and a number of eight bits says how many more there are
_CORE = [f"r{i}" for i in range(13)] + ["sp", "lr", "pc"]


def exidx(image: Image) -> SecondReader:
    """The rows of ``.ARM.exidx``: each holds for a whole function, which ends where the next entry begins.

    That unwinding fails in a function does not say that it has no caller; but the one that the image begins in has
    none, whatever other functions linkers have joined to its entry.
    """
    section, arch, segments = image.sections[".ARM.exidx"], image.arch, image.segments
    first, starts = _first_function(image), entry_starts(image)
    ends = [*starts[1:], max((s.address + s.size for s in segments if s.executable), default=0)]

    def row_at(pc: int) -> SecondRow | NoRow:
        i = bisect_right(starts, pc) - 1
        if i < 0 or pc >= ends[i]:
            return NoRow(f"no entry of .ARM.exidx covers {pc:#x}")
        (second,) = struct.unpack_from("<I", section.data, 8 * i + 4)
        if second == _CANTUNWIND:
            if pc in first:
                return SecondRow(arch, starts[i], ends[i], 8 * i, None, Lost(), {})
            return NoRow("the entry says EXIDX_CANTUNWIND", is_said=True)
        if second & _COMPACT:
            words: Sequence[int] = [second]
        else:
            words = list(islice(_words(segments, _prel31(section.data, 8 * i + 4, section.address)), _MOST_WORDS))
        return _executed(arch, starts[i], ends[i], 8 * i, _instructions(words))

    return row_at


def entry_starts(image: Image) -> list[int]:
    """Where the code of each entry of ``.ARM.exidx`` begins. Raises ValueError where those are no pairs of words."""
    section = image.sections[".ARM.exidx"]
    if len(section.data) % 8:
        raise ValueError("no pairs of words")
    return [_prel31(section.data, at, section.address) for at in range(0, len(section.data), 8)]


def _first_function(image: Image) -> range:
    """The pcs of the function that the image begins in, as symbols say; without one, its first instruction."""
    function = image.function_at(image.entry)
    if function is None:
        return range(image.entry, image.entry + 2)
    behind = (symbol.address for symbol in image.symbols if symbol.is_function and symbol.address > function.address)
    return range(function.address, function.address + function.size if function.size else min(behind, default=1 << 32))


def _prel31(data: bytes, at: int, address: int) -> int:
    """The address that 31 bits name, as a distance from their own place."""
    word: int = struct.unpack_from("<I", data, at)[0]
    distance = (word & 0x7FFF_FFFF) - ((word & 0x4000_0000) << 1)
    return (address + at + distance) & 0xFFFF_FFFE


def _words(segments: Sequence[Segment], address: int) -> Iterator[int]:
    """The words from an address on, as far as its segment has bytes."""
    for segment in segments:
        if segment.address <= address < segment.address + len(segment.data):
            for at in range(address - segment.address, len(segment.data) - 3, 4):
                yield from struct.unpack_from("<I", segment.data, at)
            return


def _instructions(words: Sequence[int]) -> bytes:
    """The instructions of an entry. Raises ValueError for a compact model that is none, IndexError where words lack.

    An entry of the generic model names its personality routine; those that exist keep their instructions behind it
    as ``__aeabi_unwind_cpp_pr1`` does, the number of further words in the first byte.
    """
    first = words[0]
    if not first & _COMPACT:
        more, kept = words[1] >> 24, 3
        words = words[1:]
    else:
        model = first >> 24 & 0x7F
        if model > 2:
            raise ValueError(f"a compact model {model}")
        more, kept = (first >> 16 & 0xFF, 2) if model else (0, 3)
    if len(words) <= more:
        raise IndexError(f"{more} more words behind the end")
    return words[0].to_bytes(4, "big")[4 - kept :] + b"".join(word.to_bytes(4, "big") for word in words[1 : 1 + more])


@dataclass(slots=True)
class _VirtualRegisters:
    """What the virtual registers hold, as rules of the real ones."""

    arch: Arch
    vsp: SecondRule = field(default_factory=lambda: Plus("sp"))
    held: dict[str, SecondRule] = field(default_factory=dict)

    def move(self, distance: int) -> None:
        at = self.vsp
        self.vsp = Plus(at.base, at.offset + distance) if isinstance(at, Plus) else Plus(at, distance)

    def pop(self, names: Sequence[str], size: int = 4) -> None:
        for name in names:
            self.held[name] = Word(self.vsp, size)
            self.move(size)
        if "sp" in names:
            self.vsp = self.held.pop("sp")

    def pop_vector(self, first: int, count: int) -> None:
        self.pop([f"d{first + i}" for i in range(count)], 8)


def _executed(arch: Arch, start: int, end: int, place: int, code: bytes) -> SecondRow | NoRow:
    registers, left = _VirtualRegisters(arch), TableBytes(code, 0, len(code))
    while left.left and (op := left.number(1)) != 0xB0:  # finish
        operand = left.number(1) if 0x80 <= op < 0x90 or op in _WITH_OPERAND else 0
        if op == 0x80 and operand == 0:
            return NoRow("the entry refuses to unwind", is_said=True)
        if op == 0xB2:
            registers.move(0x204 + (left.leb128() << 2))
        else:
            _execute(registers, op, operand)
    returns = registers.held.pop("pc", None) or registers.held.get("lr", Plus("lr"))
    return SecondRow(arch, start, end, place, registers.vsp, returns, registers.held)


_WITH_OPERAND = (0xB1, 0xB3, 0xC8, 0xC9)


def _execute(registers: _VirtualRegisters, op: int, operand: int) -> None:
    """Execute one instruction. Raises ValueError for one that is spare or reserved."""
    low, count, first = op & 0x0F, (operand & 0x0F) + 1, operand >> 4
    if op < 0x80:
        registers.move((-1 if op & 0x40 else 1) * (((op & 0x3F) << 2) + 4))
    elif op < 0x90:
        registers.pop([_CORE[4 + i] for i in range(12) if (low << 8 | operand) >> i & 1])
    elif op < 0xA0 and low not in (13, 15):
        registers.vsp = registers.held.get(_CORE[low], Plus(_CORE[low]))
    elif 0xA0 <= op < 0xB0:
        registers.pop(_CORE[4 : 5 + (op & 7)] + (["lr"] if op & 8 else []))
    elif op == 0xB1 and 0 < operand < 0x10:
        registers.pop([_CORE[i] for i in range(4) if operand >> i & 1])
    elif op == 0xB4:
        registers.move(4)  # the code that authenticates the return address, which stays as it is
    elif op == 0xB5:
        pass  # SP as it is here was signed with
    elif op in (0xB3, 0xC8, 0xC9) and first + count <= 16 * (1 + (op == 0xC9)):  # d16 and up are not FSTMFDX's
        registers.pop_vector(first + (16 if op == 0xC8 else 0), count)
        if op == 0xB3:
            registers.move(4)  # FSTMFDX writes a word more
    elif 0xB8 <= op < 0xC0:
        registers.pop_vector(8, (op & 7) + 1)
        registers.move(4)
    elif 0xD0 <= op < 0xD8:
        registers.pop_vector(8, (op & 7) + 1)
    else:
        raise ValueError(f"an instruction {op:#x}")
