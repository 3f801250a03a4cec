"""Numbers of the static pass: what an instruction does, what a register holds, and what is found of an entry.

An instruction is a flow (where control goes on) and some operations, each a row of five numbers: its kind, the register
that it is for, and what the kind says below. Registers are DWARF numbers, but for vector registers: the lower half of
arm64's v8 to v15 is 32 to 39, arm32's s16 to s31 are 16 to 31. No register is -1.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled

# Where control goes on: behind the instruction, at a target (too), at an address that is not known, with the caller,
# nowhere. NOTHING: as NEXT, and the instruction has no effect at all.
NEXT, JUMP, BRANCH, CALL, CALL_AWAY, AWAY, RETURN, STOP, NOTHING = range(9)
PERHAPS = 16  # added to RETURN and AWAY: under a condition; the operations are what is done on that way only

# Operations: kind, register, then
#   CLOBBER   it gets a value that nobody follows; distance, 0, 1: an address so far behind the instruction
#   HIDE      it gets a value that may be any register's: out of a vector register, or of what is not decoded
#   COPY      source
#   ADD       source, number
#   ADD_TWO   source, source, 1 or -1 (the sign of the second)
#   ALIGN     source, mask
#   CONSTANT  number   distance of the word in the code that has it, or 0
#   INSERT    16 bits, their place: movk and movt
#   LOAD      base, displacement, size
#   STORE     base, displacement, size: the register is what is stored; -1: a value of its own, -2: any
#   SPILL     base, index: the register goes to a place near both that nobody follows; none of both: out of sight
#   SIGN      1 or 0: the return address in the register gets a signature, or loses it
#   COMPARE   other register
#   EQUAL     1: a branch is taken where what was compared is equal; 0: where it is not
#   KERNEL    a number, another: a system call of the register's number. Those two make a thread: 0 is what the new one
#             gets, which goes on there on a stack of its own
(CLOBBER, HIDE, COPY, ADD, ADD_TWO, ALIGN, CONSTANT, INSERT, LOAD, STORE, SIGN, COMPARE, EQUAL, SPILL, KERNEL) = range(
    15
)
MOST_OPERATIONS = 80  # an IT block of Thumb has four instructions with up to 17 each
ANY_VALUE = -2

# What a register or a word of the stack holds: a kind in bits 56 and up, then for
#   MAYBE     nothing is known, it may be what a row says; bit 0: it is one of two that are not the same
#   OTHER     a value that is made here, or comes from elsewhere
#   CALLERS   the register (bits 0 to 7) as the caller had it; bit 8: with a signature
#   PLACE     an address: the base (bits 48 to 55) and the distance from it (bits 0 to 47)
#   NUMBER    a number of 48 bits
MAYBE, OTHER, CALLERS, PLACE, NUMBER = range(5)
KIND = 56
MIXED = MAYBE << KIND | 1
SIGNED = 0x100
# Bases: the CFA; what a row is believed of; the CFA rounded down, by distance and mask; other stretches of the stack,
# which lie nobody knows how far away, by the instruction, and by the place where ways meet.
CFA_BASE, BELIEVED_BASE, ROUNDED_BASE, INSTRUCTION_BASE, MEETING_BASE, BASES = 0, 1, 2, 40, 120, 256
_MASK = (1 << 48) - 1
_HALF = 1 << 47

ALIGNMENT = 16  # bytes: a multiple of this is every CFA, by the conventions of the architectures with 64 bits

# Architectures, as kernels know them.
X86_64, ARM64, ARM32 = range(3)
X86_RETURN = 16  # the DWARF number of the return address
# What the code at a place of an ARM32 file is.
A32, THUMB, DATA = range(3)


@compiled(inline=True)
def callers(register: Any) -> Any:
    """The code of a value: what the caller had in a register."""
    return (CALLERS << KIND) | register


@compiled(inline=True)
def place(base: Any, distance: Any) -> Any:
    """The code of a value: an address at a distance from what a base had at the entry."""
    return (PLACE << KIND) | (base << 48) | (distance & _MASK)


@compiled(inline=True)
def number(value: Any) -> Any:
    """The code of a value: a known number."""
    return (NUMBER << KIND) | (value & _MASK)


@compiled(inline=True)
def low(value: Any) -> Any:
    """The number or distance in a value."""
    return ((value & _MASK) ^ _HALF) - _HALF


@compiled(inline=True)
def rounded(value: Any, mask: Any) -> Any:
    """An address that counts from the CFA, rounded down. Beyond a CFA's own alignment that is a base of its own."""
    distance = low(value) & -ALIGNMENT if mask < -ALIGNMENT else low(value)
    if mask >= -ALIGNMENT:
        return place(CFA_BASE, distance & mask)
    return place(ROUNDED_BASE + (mask * 7 - distance) % (INSTRUCTION_BASE - ROUNDED_BASE), 0)


@compiled(inline=True)
def emit(operations: Any, count: Any, kind: Any, register: Any, first: Any, second: Any, third: Any) -> Any:
    """One more operation; how many there are then."""
    operations[count, 0] = kind
    operations[count, 1] = register
    operations[count, 2] = first
    operations[count, 3] = second
    operations[count, 4] = third
    return count + 1


@compiled(inline=True)
def signed_number(code: Any, at: Any, size: Any) -> Any:
    """A little-endian number with a sign."""
    value = 0
    for k in range(size):
        octet = int(code[at + k])
        if k == size - 1 and octet >= 0x80:
            octet -= 0x100
        value |= octet << (8 * k)
    return value


@compiled(inline=True)
def with_sign(value: Any, bits: Any) -> Any:
    """A number of so many bits, read as two's complement."""
    return (value ^ 1 << bits - 1) - (1 << bits - 1)
