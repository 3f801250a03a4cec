"""The libraries whose own unwind tables are a witness of the analysis, where they are installed: all or a part of their
functions, compared by several processes, and the tables of docs/results/analysis-of-libraries.md.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property, reduce
from itertools import pairwise
from pathlib import Path
from random import Random

from elftools.elf.elffile import ELFFile

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
from testbed.image import Image, read_image
from testbed.image.capstone_isas import disassembler
from testbed.image.separate_debug import DebugDirs
from testbed.words.errors import UnwindError
from unwinders.analysis.abstract_machine import rebased
from unwinders.analysis.abstract_state import CFA, LANDED, AbstractState, AbstractValue, EntryValue, StackAddress, join
from unwinders.analysis.control_flow import states_of
from unwinders.analysis.function_bounds import FunctionParts, functions_of
from unwinders.analysis.function_code import FunctionCode
from unwinders.analysis.operations import Call
from unwinders.analysis.state_rules import frame_rules
from unwinders.formats.cfi import cfi_index
from unwinders.formats.ehabi_rows import exidx_index

# Functions of a library, analysed, and every row that its own unwind table has for their instructions beside that.


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
    decoder = disassembler(isa.name)
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


NAMES = ("libc.so.6", "libm.so.6", "libstdc++.so.6")
FOLDERS = {
    "x86_64": Path("/lib/x86_64-linux-gnu"),
    "arm64": Path("/usr/aarch64-linux-gnu/lib"),
    "arm32": Path("/usr/arm-linux-gnueabihf/lib"),
}


def installed(arch: str, name: str) -> Path | None:
    """The path of a library, or None where it is not installed."""
    path = FOLDERS[arch] / name
    return path if path.exists() else None


def _data(debug_file: Path) -> Iterator[tuple[int, int]]:
    """From each mapping symbol $d to the next one (ELF for the Arm Architecture, section 5.5.5)."""
    elf = ELFFile(io.BytesIO(debug_file.read_bytes()))
    symbols = (
        (symbol["st_value"], symbol.name.split(".")[0]) for symbol in elf.get_section_by_name(".symtab").iter_symbols()
    )
    marks = sorted(mark for mark in symbols if mark[1] in ("$a", "$t", "$d"))
    return ((at, end) for (at, kind), (end, _) in pairwise(marks) if kind == "$d" and end > at)


SEED = 20261122
AT_ONCE = 25  # functions to a job


@dataclass(frozen=True, slots=True)
class Compares:
    """A library and the table that it is compared with; ``debug`` is where its separate debug file is looked for."""

    arch: str
    path: Path
    section: str
    debug: Path | None = None

    @property
    def title(self) -> str:
        return f"{self.arch} {self.path.name} {self.section}"


def planned(armhf: Path | None = None) -> list[Compares]:
    """What there is to compare; ``armhf``: where libc6 and libc6-dbg of that architecture were unpacked."""
    found = [
        Compares(arch, path, ".ARM.exidx" if arch == "arm32" else ".eh_frame")
        for arch in ("x86_64", "arm64", "arm32")
        for name in NAMES
        if (path := installed(arch, name)) is not None and (arch != "arm32" or name == "libc.so.6")
    ]
    if armhf is not None:
        libc = armhf / "lib/arm-linux-gnueabihf/libc.so.6"
        found.append(Compares("arm32", libc, ".debug_frame", armhf / "usr/lib/debug"))
    return found


@cache
def library_of(which: Compares) -> Library:
    """The rows of an exception index hold at calls. A separate debug file also says what is code and what is data."""
    image = read_image(which.path, debug=DebugDirs((which.debug,) if which.debug else ()))
    if which.section == ".ARM.exidx":
        return Library(image, exidx_index(image).all_rows(), at_calls=True)
    data = dict(_data(image.debug_file)) if which.debug and image.debug_file else {}
    return Library(image, cfi_index(image, which.section).all_rows(), data)


def chosen(which: Compares, most: int | None) -> list[int]:
    """The numbers of the functions to compare: all, or so many at random, the same ones each time."""
    numbers = range(len(functions_of(library_of(which).image).all))
    return sorted(Random(SEED).sample(numbers, most)) if most is not None and most < len(numbers) else [*numbers]


def part_of(which: Compares, numbers: list[int]) -> Compared:
    library = library_of(which)
    every = functions_of(library.image).all
    return compared(library, [every[number] for number in numbers])


def sweep(which: Compares, most: int | None = None, processes: int | None = None) -> Compared:
    """One library, all of it or ``most`` of its functions."""
    numbers = chosen(which, most)
    jobs = [numbers[at : at + AT_ONCE] for at in range(0, len(numbers), AT_ONCE)]
    found = Compared()
    with ProcessPoolExecutor(processes) as pool:
        for one in pool.map(part_of, [which] * len(jobs), jobs):
            found.add(one)
    return found


def libraries_rows(found: Mapping[str, Compared]) -> Iterator[tuple[str, ...]]:
    """A line for each library and table: functions, instructions, how many are equal, and which share that is."""
    for title, one in found.items():
        shares = (f"{100 * count / one.total:.3f} %" for count in (one.counts[EQUAL], one.refused))
        yield title, *(f"{count:,}" for count in (one.functions, one.total, one.counts[EQUAL])), *shares


def differing_rows(found: Mapping[str, Compared]) -> Iterator[tuple[str, ...]]:
    """A line for each way to differ: how many instructions, and in which libraries."""
    counts = sum((one.counts for one in found.values()), Counter[str]())
    for how, count in counts.most_common():
        if how != EQUAL:
            yield how, f"{count:,}", ", ".join(title for title, one in found.items() if one.counts[how])
