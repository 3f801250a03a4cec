"""Functions of a library, analysed, and every row that its own unwind table has for their instructions beside that."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, reduce

from capstone import Cs

from testbed.arch import Arch, Isa
from testbed.contract.rows import (
    AtRegister,
    ExpressionRule,
    Offset,
    Operation,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
)
from testbed.conventions import platform
from testbed.image import Image
from testbed.image.capstone_isas import CAPSTONE
from testbed.words.errors import UnwindError
from unwinders.analysis.abstract_machine import rebased
from unwinders.analysis.abstract_state import CFA, LANDED, AbstractState, AbstractValue, EntryValue, StackAddress, join
from unwinders.analysis.control_flow import states_of
from unwinders.analysis.function_bounds import FunctionParts
from unwinders.analysis.function_code import FunctionCode
from unwinders.analysis.operations import Call
from unwinders.analysis.state_rules import frame_rules

# What a table's rules mean in a state of the analysis: right, false, or not known.
#
# Rows are not compared by their looks, `rsp+16` and `rbp+16` may be the same place. A rule of the table is evaluated
# with what the analysis knows before the instruction: right if the CFA, or what the register was in the caller, comes
# out.

BREG, DEREF, PLUS = range(0x70, 0x90), 0x06, 0x23  # DWARF 5, section 7.7.1


class Means(Enum):
    """How a rule of the table fares; of `UNSAID` the table says nothing, of `UNKNOWN` the analysis."""

    RIGHT = "the same"
    FALSE = "the analysis says otherwise"
    UNKNOWN = "the analysis does not know"
    UNSAID = "the table does not say"


def cfa_means(arch: Arch, state: AbstractState, rule: Rule | None, other_sps: frozenset[int]) -> Means:
    """The table's CFA. ``other_sps``: SP's distances from the CFA elsewhere in the function, for where it is lost."""
    match rule:
        case RegisterPlus(register, offset):
            value = state.registers.get(register)
            if value is None and register == arch.sp:
                return Means.RIGHT if -offset in other_sps else Means.UNKNOWN
            place = StackAddress(value.base, value.offset + offset) if isinstance(value, StackAddress) else None
            if value is None:
                return Means.UNKNOWN
        case AtRegister(register, offset):
            place = _as_address(_slot(state, _plus(state.registers.get(register), offset)))
        case ValExpression(operations):
            place = _as_address(_evaluated(arch, state, operations))
        case _:
            return Means.UNSAID
    if place is None:
        return Means.FALSE if isinstance(rule, RegisterPlus) else Means.UNKNOWN
    if place.base != CFA:
        return Means.UNKNOWN
    return Means.RIGHT if place.offset == 0 else Means.FALSE


def register_means(arch: Arch, state: AbstractState, row: UnwindRow, register: str) -> Means:
    """The table's rule of one register; no rule: unchanged."""
    rule = row.registers.get(register)
    match rule:
        case Undefined():
            return Means.UNSAID
        case None | SameValue():
            value = state.registers.get(register)
        case Offset(offset):
            value = _slot(state, StackAddress(CFA, offset))
        case RegisterPlus(other, 0):
            value = state.registers.get(other)
        case AtRegister(other, offset):
            value = _slot(state, _plus(state.registers.get(other), offset))
        case ExpressionRule(operations):
            value = _slot(state, _evaluated(arch, state, operations))
        case _:
            return Means.UNSAID
    if isinstance(value, EntryValue) and value.register == register:
        return Means.RIGHT
    return Means.FALSE if register in state.said() else Means.UNKNOWN


def _plus(value: AbstractValue | None, offset: int) -> StackAddress | None:
    return StackAddress(value.base, value.offset + offset) if isinstance(value, StackAddress) else None


def _slot(state: AbstractState, place: AbstractValue | None) -> AbstractValue | None:
    return state.slots.get((place.base, place.offset), (0, None))[1] if isinstance(place, StackAddress) else None


def _as_address(value: AbstractValue | None) -> StackAddress | None:
    return value if isinstance(value, StackAddress) else None


def _evaluated(arch: Arch, state: AbstractState, operations: tuple[Operation, ...]) -> AbstractValue | None:
    """The expressions that compilers write for a realigned stack: a register plus a number, what is there, plus one."""
    top: AbstractValue | None = None
    for operation in operations:
        if operation.opcode in BREG:
            names = [r.name for r in arch.registers if r.dwarf == operation.opcode - BREG.start]
            top = _plus(state.registers.get(names[0]), operation.operands[0]) if names else None
        elif operation.opcode == DEREF:
            top = _slot(state, top)
        elif operation.opcode == PLUS:
            number = operation.operands[0]
            top = _plus(top, number - (1 << 64) if number >> 63 else number)
        else:
            return None
    return top


EQUAL, REFUSED = "equal", "refused"
FALSE_FRAME = "another CFA or return address"


@dataclass(frozen=True, eq=False)
class Library:
    """A file, the table to compare with, where data lies between its code, and whether its rows hold at calls only."""

    image: Image
    table: RowTable
    data: Mapping[int, int] = field(default_factory=dict)  # start -> end
    at_calls: bool = False

    @cached_property
    def data_starts(self) -> list[int]:
        return sorted(self.data)


@dataclass
class Compared:
    """Instructions by how they fared, and those that are not equal by (function, how)."""

    functions: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    different: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def refused(self) -> int:
        return sum(count for how, count in self.counts.items() if how.startswith(REFUSED))

    def add(self, other: Compared) -> None:
        self.functions += other.functions
        self.counts.update(other.counts)
        self.different.update(other.different)


def compared(library: Library, functions: Iterable[FunctionParts]) -> Compared:
    """All instructions of the functions that the table has a row for."""
    found = Compared()
    for function in functions:
        found.add(_function(library, function))
    return found


def _function(library: Library, function: FunctionParts) -> Compared:
    image, found = library.image, Compared(functions=1)
    code = FunctionCode(image, function)
    try:
        states = {pc: reduce(join, ways) for pc, ways in states_of(code).before.items()}
    except UnwindError:
        states = {}
    sps = [state.registers.get(image.arch.sp) for state in states.values()]
    other_sps = frozenset(sp.offset for sp in sps if isinstance(sp, StackAddress) and sp.base == CFA)
    for pc, idle in _instructions(library, function, image.isa_at(function.entry)):
        row, instruction = library.table.at(pc), code.at(pc)
        if row is None or isinstance(row.registers.get(image.arch.return_address), Undefined):
            continue  # the root, or nothing to compare with
        if library.at_calls and (instruction is None or not isinstance(instruction.control, Call)):
            continue
        if pc in states or not idle:  # else it aligns what follows
            how = _how(image, states.get(pc), row, other_sps)
            found.counts[how] += 1
            found.different[function.name, how] += how != EQUAL
    return Compared(found.functions, found.counts, +found.different)


def _how(image: Image, state: AbstractState | None, row: UnwindRow, other_sps: frozenset[int]) -> str:
    arch = image.arch
    if state is None:
        return f"{REFUSED}: no way leads here"
    try:
        frame_rules(arch, state)
    except UnwindError:
        return f"{REFUSED}: the CFA or the return address is lost"
    sp = state.registers.get(arch.sp)
    if isinstance(sp, StackAddress) and sp.base == LANDED and isinstance(row.cfa, RegisterPlus):
        there = -row.cfa.offset - sp.offset  # where the table has SP: also elsewhere in the function?
        if row.cfa.register == arch.sp and -row.cfa.offset in other_sps:
            state = rebased(state, LANDED, StackAddress(CFA, there))
    cfa = cfa_means(arch, state, row.cfa, other_sps)
    registers = {
        name: register_means(arch, state, row, name) for name in (*platform(arch).preserved, arch.return_address)
    }
    if cfa is Means.FALSE or registers[arch.return_address] is Means.FALSE:
        return FALSE_FRAME
    if Means.FALSE in registers.values():
        return "a register is elsewhere"
    if Means.UNKNOWN in (cfa, registers[arch.return_address]):
        return "the CFA or return address of the table is not known"
    return "a register is not known" if Means.UNKNOWN in registers.values() else EQUAL


def _instructions(library: Library, function: FunctionParts, isa: Isa) -> Iterator[tuple[int, bool]]:
    """The address of each instruction, one behind the other, data left out; and whether it does nothing."""
    decoder = Cs(*CAPSTONE[isa.name])
    smallest = 1 if isa.name == "x86_64" else 2 if isa.address_bit else 4
    for start, end in function.parts:
        at = start
        while at < end:
            if at in library.data:
                at = library.data[at]
                continue
            i = bisect_right(library.data_starts, at)
            stop = min(end, library.data_starts[i]) if i < len(library.data_starts) else end
            for address, size, mnemonic, _ in decoder.disasm_lite(library.image.bytes_at(at, stop - at), at):
                yield address, mnemonic.startswith(("nop", "int3", "data16", "udf", "cs nop"))
                at = address + size
            at = stop if at >= stop else at + smallest
