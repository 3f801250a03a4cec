"""What one instruction does to values that are followed: from where to where they go, and where control goes.

A *spot* holds one word: a register, named as in the trace (a lane of a wide one: ``xmm0+8``), or a `MemoryWord`. An
effect says nothing of values, only of ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class MemoryWord:
    """A word in memory, addressed as the instruction does, with registers as they are before it::

        address = (base + extended(index) * scale + displacement) mod 2^(8 * word)

    ``base`` and ``index`` are columns of the trace, or None. ``index_bits`` of the index count, with their sign if
    ``signed``. ``aligned``: rounded down to a multiple of 4, as ARM's addresses relative to pc are. ``part``: so many
    bytes of the word are loaded or stored, fewer than all; 0 is all.
    """

    base: int | None
    displacement: int
    index: int | None = None
    scale: int = 1
    index_bits: int = 64
    signed: bool = False
    aligned: bool = False
    part: int = 0

    def address(self, row: Sequence[int]) -> int:
        """Where the word is, with this row of the trace; not yet cut to the width of an address."""
        at = 0 if self.base is None else row[self.base]
        if self.aligned:
            return (at + self.displacement) & -4
        if self.index is not None:
            index = row[self.index] & ((1 << self.index_bits) - 1)
            if self.signed and index >> (self.index_bits - 1):
                index -= 1 << self.index_bits
            at += index * self.scale
        return at + self.displacement


Spot: TypeAlias = str | MemoryWord
Carry: TypeAlias = tuple[Spot, tuple[Spot, ...]]


class Flow(Enum):
    """Where control goes after an instruction."""

    NEXT = "next"
    JUMP = "jump"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Passage:
    """What an instruction does, if its ``condition`` holds (a number of capstone's ``ARM_CC_``; None: always).

    ``moves`` are made at once: each first place gets a value computed from the others; from none of them, one that is
    not followed. ``chosen``: it is one of them, whichever is equal. ``difference``: the distance of two is neither.
    ``target`` is where the address to jump to comes from; None: the instruction says it itself, ``direct``.
    """

    moves: tuple[Carry, ...] = ()
    flow: Flow = Flow.NEXT
    target: Spot | None = None
    direct: int | None = None
    condition: int | None = None
    chosen: bool = False
    difference: bool = False


_ALWAYS = 15


def holds(condition: int, flags: int) -> bool:
    """Whether an ARM condition (capstone's number) holds under CPSR. Source: ARM DDI 0406, A8.3."""
    if condition >= _ALWAYS or condition == 0:
        return True
    n, z, c, v = (bool(flags >> bit & 1) for bit in (31, 30, 29, 28))
    base = (z, c, n, v, c and not z, n == v, n == v and not z)[(condition - 1) // 2]
    return base == bool(condition % 2)
