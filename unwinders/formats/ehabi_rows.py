"""EHABI's operations as rows: one per function, since the table says one thing about all of it.

All of its arithmetic is static, given one register: wherever vsp goes, it is ``base + offset``, where the base is a
register or a word that was loaded from such a place, and every pop is a load from there. At the end::

    CFA            = vsp, which is the caller's sp
    register       = *(CFA + offset) if popped, else unchanged
    return address = r15 if popped, else r14
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from testbed.arch import Arch
from testbed.contract.rows import (
    AtRegister,
    ExpressionRule,
    Offset,
    Operation,
    RegisterPlus,
    Rule,
    Undefined,
    UnwindRow,
    ValExpression,
)
from testbed.image import Image, once_per_image
from testbed.words.errors import CannotUnwind, MalformedTable, NoUnwindInfo, UnsupportedRule
from unwinders.formats.cfi_rows import register_name
from unwinders.formats.ehabi import INDEX, BrokenEntry, IndexEntry, OperationBytes, exception_index, operation_bytes
from unwinders.formats.indexed import IndexedTable, Part

# EHABI's frame unwinding instructions, decoded: bytes to operations (EHABI32, section 10.3).
#
# ``vsp`` is the virtual stack pointer; at the start it is the frame's sp, at the end the caller's. "Pop" takes words
# from vsp upwards, the lowest register first, and moves vsp behind them.

LR, PC, SP = 14, 15, 13

_FURTHEST_ULEB = 0x204  # what the shorter forms of vsp + n do not reach
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
        value, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
        if value >> 64 or shift > 70:
            raise self.malformed(f"a LEB128 number of {shift} bits")
        return value

    def malformed(self, detail: str) -> MalformedTable:
        return MalformedTable(self.section, self.at, detail)

    def unsupported(self, detail: str) -> UnsupportedRule:
        return UnsupportedRule(f"{self.section}+{self.at:#x}: {detail}")


def _masked(mask: int, *, first_register: int) -> tuple[int, ...]:
    """The registers whose bits are set; bit 0 is ``first_register``."""
    return tuple(first_register + i for i in range(mask.bit_length()) if mask >> i & 1)


_BREG0, _DEREF, _PLUS_UCONST = 0x70, 0x06, 0x23  # DWARF 5, section 7.7.1


@once_per_image
def exidx_index(image: Image) -> IndexedTable:
    """The exception index of an image as a table; a function's entry is read when it is asked for.

    What its operations do that no row can express, or that they refuse to unwind, is that function's matter, like
    whatever breaks the format in its entry. Raises NoUnwindInfo and MalformedTable as ``exception_index`` does.
    """
    entries = exception_index(image)
    # Linkers join entries: other functions that cannot be unwound may stand around the image's first one.
    cuts = _first_function(image)
    parts: list[Part] = []
    for i, entry in enumerate(entries):
        alone = isinstance(entry, IndexEntry) and entry.cannot_unwind
        its_cuts = [cut for cut in cuts if entry.start < cut < entry.end and alone]
        bounds = pairwise([entry.start, *its_cuts, entry.end])
        parts += [Part(start, end, i) for start, end in bounds if start < end]

    def read(part: Part) -> Sequence[UnwindRow]:
        entry = entries[part.entry]
        if isinstance(entry, BrokenEntry):
            raise entry.why.again()
        return (entry_row(image, replace(entry, start=part.start, end=part.end)),)

    return IndexedTable(INDEX, tuple(parts), read)


def _first_function(image: Image) -> tuple[int, int]:
    """[start, end) of the function at the image's entry, as symbols say; without one, of one instruction."""
    function = image.function_at(image.entry)
    if function is None:
        return image.entry, image.entry + 2
    following = (s.address for s in image.symbols if s.is_function and s.address > function.address)
    return function.address, function.address + function.size if function.size else next(following, 1 << 32)


def entry_row(image: Image, entry: IndexEntry) -> UnwindRow:
    """The row of one index entry.

    Raises CannotUnwind for a function that cannot be unwound (EXIDX_CANTUNWIND), but for the one that the image begins
    with: nobody called that.
    """
    arch, found_by = image.arch, f"{INDEX}+{entry.offset:#x}"
    if entry.cannot_unwind:
        start, end = _first_function(image)
        if not entry.start <= start < entry.end:
            raise CannotUnwind(f"{found_by}: the function at {entry.start:#x} cannot be unwound (EXIDX_CANTUNWIND)")
        rules: dict[str, Rule] = {arch.return_address: Undefined()}
        return UnwindRow(start, min(end, entry.end), None, rules, arch.return_address, found_by=found_by)
    undone = _Undone(arch)
    undone.execute(decode(operation_bytes(image, entry)))
    cfa, rules = undone.rules()
    return_address = arch.pc if arch.pc in rules else arch.return_address
    return UnwindRow(entry.start, entry.end, cfa, rules, return_address, found_by=found_by)


@dataclass(frozen=True, slots=True)
class _Base:
    """What vsp counts from: a register of this frame, or what is loaded from there, and from where that leads, ...

    ``loads`` are the offsets that are added before each load.
    """

    register: str
    loads: tuple[int, ...] = ()


@dataclass(slots=True)
class _Undone:
    """The operations executed so far: where vsp is, and where each popped register was."""

    arch: Arch
    base: _Base = field(init=False)
    offset: int = 0
    popped: dict[str, tuple[_Base, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = _Base(self.arch.sp)

    def execute(self, operations: Iterable[EhabiOperation]) -> None:
        for operation in operations:
            match operation:
                case MoveVsp(distance):
                    self.offset += distance
                case SetVsp(register):
                    self.set(register_name(self.arch, register))
                case Pop(registers):
                    for register in registers:
                        self.pop(register_name(self.arch, register), 4)
                    if SP in registers:  # the popped value replaces vsp: nothing is added to it
                        self.set(self.arch.sp)
                case PopVfp(first, count, fstmfdx):
                    for number in range(first, first + count):
                        self.pop(f"d{number}", 8)
                    self.offset += 4 if fstmfdx else 0
                case PopAuthenticationCode():
                    self.offset += 4
                case AuthenticateHere():
                    pass

    def pop(self, register: str, size: int) -> None:
        self.popped[register] = (self.base, self.offset)
        self.offset += size

    def set(self, register: str) -> None:
        """vsp is what a register holds now: this frame's value, or what was popped into it."""
        if register not in self.popped:
            self.base, self.offset = _Base(register), 0
            return
        base, offset = self.popped[register]
        self.base, self.offset = replace(base, loads=(*base.loads, offset)), 0

    def rules(self) -> tuple[Rule, dict[str, Rule]]:
        """The CFA and the registers of the caller."""
        rules = {name: self.slot(name) for name in self.popped if name != self.arch.sp}
        if not self.base.loads:
            return RegisterPlus(self.base.register, self.offset), rules
        if self.offset == 0 and len(self.base.loads) == 1:
            return AtRegister(self.base.register, self.base.loads[0]), rules
        return ValExpression(self.address(self.base, self.offset)), rules

    def slot(self, name: str) -> Rule:
        base, offset = self.popped[name]
        if base == self.base:
            return Offset(offset - self.offset)
        return ExpressionRule(self.address(base, offset)) if base.loads else AtRegister(base.register, offset)

    def address(self, base: _Base, offset: int) -> tuple[Operation, ...]:
        """A place as an expression."""
        number = self.arch.by_name[base.register].dwarf
        assert number is not None  # operations name core registers only
        first, *others = (*base.loads, offset)
        operations: list[tuple[int, tuple[int, ...]]] = [(_BREG0 + number, (first,))]
        for each in others:
            operations += [(_DEREF, ()), (_PLUS_UCONST, (each & self.arch.word_mask,))]
        return tuple(Operation(code, operands, i) for i, (code, operands) in enumerate(operations))
