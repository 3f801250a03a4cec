"""EHABI's frame unwinding instructions, decoded: bytes to operations (EHABI32, section 10.3).

``vsp`` is the virtual stack pointer; at the start it is the frame's sp, at the end the caller's. "Pop" takes words
from vsp upwards, the lowest register first, and moves vsp behind them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from unwinders.formats.ehabi import OperationBytes

LR, PC, SP = 14, 15, 13

_FURTHEST_ULEB = 0x204  # what the shorter forms of vsp + n do not reach
_ULEB_BYTES = 5  # a 32-bit value has no more
# How many double registers each of the two ways to save them knows (remark d).
_VPUSH_REGISTERS, _FSTMFDX_REGISTERS = 32, 16


@dataclass(frozen=True, slots=True)
class MoveVsp:
    """``vsp = vsp + distance``, in bytes."""

    distance: int


@dataclass(frozen=True, slots=True)
class SetVsp:
    """``vsp = r[register]``."""

    register: int


@dataclass(frozen=True, slots=True)
class Pop:
    """Pop core registers, by number, in ascending order."""

    registers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PopVfp:
    """Pop ``count`` double registers from d``first`` on. FSTMFDX has left another word above them."""

    first: int
    count: int
    fstmfdx: bool


@dataclass(frozen=True, slots=True)
class PopAuthenticationCode:
    """Pop the code that authenticates the return address: a word of its own, the address itself is not changed."""


@dataclass(frozen=True, slots=True)
class AuthenticateHere:
    """The present vsp is what the return address was signed with. It moves nothing."""


EhabiOperation = MoveVsp | SetVsp | Pop | PopVfp | PopAuthenticationCode | AuthenticateHere


def decode(content: OperationBytes) -> tuple[EhabiOperation, ...]:
    """The operations up to "finish", which may be left out at the end.

    Raises MalformedTable where an instruction is cut off, UnsupportedRule for Wireless MMX and for what is spare or
    reserved, registers that do not exist among them, and NoUnwindInfo where the table refuses to unwind.
    """
    return tuple(_Decoder(content).operations())


class _Decoder:
    def __init__(self, content: OperationBytes) -> None:
        self.section, self.bytes = content.section, content.bytes
        self.next = 0
        self.at = 0  # section offset of the instruction being decoded

    def operations(self) -> Iterator[EhabiOperation]:
        while self.next < len(self.bytes):
            self.at = self.bytes[self.next][0]
            first = self.byte()
            if first == 0xB0:
                return
            yield self.operation(first)

    def byte(self) -> int:
        if self.next == len(self.bytes):
            raise self.malformed("the entry ends in the middle of an unwinding instruction")
        self.next += 1
        return self.bytes[self.next - 1][1]

    def operation(self, first: int) -> EhabiOperation:
        """One instruction, in the order of the specification's table."""
        low3, low4, low6 = first & 7, first & 0xF, first & 0x3F
        if first < 0x40:
            return MoveVsp((low6 << 2) + 4)
        if first < 0x80:
            return MoveVsp(-(low6 << 2) - 4)
        if first < 0x90:
            mask = low4 << 8 | self.byte()
            if not mask:
                raise NoUnwindInfo(f"{self.section}+{self.at:#x} refuses to unwind")
            return Pop(_masked(mask, first_register=4))
        if first < 0xA0:
            if low4 in (SP, PC):
                raise self.unsupported(f"{first:#04x} is reserved")
            return SetVsp(low4)
        if first < 0xB0:
            through = tuple(range(4, 4 + low3 + 1))
            return Pop((*through, LR) if first & 8 else through)
        match first:
            case 0xB1:
                mask = self.byte()
                if not 0 < mask < 0x10:
                    raise self.unsupported(f"0xb1 {mask:#04x} is spare")
                return Pop(_masked(mask, first_register=0))
            case 0xB2:
                return MoveVsp(_FURTHEST_ULEB + (self.uleb() << 2))
            case 0xB3:
                return self.vfp_range(0, fstmfdx=True)
            case 0xB4:
                return PopAuthenticationCode()
            case 0xB5:
                return AuthenticateHere()
            case 0xC6 | 0xC7:
                raise self.unsupported(f"{first:#04x} {self.byte():#04x} is for Wireless MMX, or spare")
            case 0xC8:
                return self.vfp_range(16, fstmfdx=False)
            case 0xC9:
                return self.vfp_range(0, fstmfdx=False)
        if 0xB8 <= first < 0xC0:
            return PopVfp(8, low3 + 1, fstmfdx=True)
        if 0xC0 <= first < 0xC6:
            raise self.unsupported(f"{first:#04x} is for Wireless MMX")
        if 0xD0 <= first < 0xD8:
            return PopVfp(8, low3 + 1, fstmfdx=False)
        raise self.unsupported(f"{first:#04x} is spare")

    def vfp_range(self, base: int, *, fstmfdx: bool) -> PopVfp:
        operand = self.byte()
        start, count = base + (operand >> 4), (operand & 0xF) + 1
        there = _FSTMFDX_REGISTERS if fstmfdx else _VPUSH_REGISTERS
        if start + count > there:
            raise self.unsupported(f"d{start} to d{start + count - 1} are reserved: the last register is d{there - 1}")
        return PopVfp(start, count, fstmfdx)

    def uleb(self) -> int:
        value = 0
        for i in range(_ULEB_BYTES):
            byte = self.byte()
            value |= (byte & 0x7F) << (7 * i)
            if not byte & 0x80:
                return value
        raise self.malformed(f"a LEB128 number has more than {_ULEB_BYTES} bytes")

    def malformed(self, detail: str) -> MalformedTable:
        return MalformedTable(self.section, self.at, detail)

    def unsupported(self, detail: str) -> UnsupportedRule:
        return UnsupportedRule(f"{self.section}+{self.at:#x}: {detail}")


def _masked(mask: int, *, first_register: int) -> tuple[int, ...]:
    """The registers whose bits are set; bit 0 is ``first_register``."""
    return tuple(first_register + i for i in range(mask.bit_length()) if mask >> i & 1)
