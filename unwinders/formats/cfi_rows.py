"""Call frame instructions, executed: one FDE to its rows (DWARF 5, section 6.4.2 and 6.4.3).

Offsets in code are multiplied by the CIE's code alignment factor, register offsets and the ``_sf`` forms by its
data alignment factor; the plain ``def_cfa`` forms are not factored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

from testbed.arch import Arch, RegisterPart
from testbed.contract.rows import (
    RA_SIGNED,
    AtRegister,
    Constant,
    ExpressionRule,
    Offset,
    Operation,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from unwinders.formats.cfi_entries import Cie, Fde
from unwinders.formats.dwarf_expr import parse_expression
from unwinders.formats.reader import INDIRECT, Reader

# Rules about parts of registers, put together: a register is restored where its parts lie side by side.
#
# GCC's `.debug_frame` for arm32 has no number for d8. It saves s16 at an address and s17 four bytes above, which is d8
# in little-endian memory. A register of which the parts cannot be put together, or of which one part is saved alone,
# is unknown in the caller: its old value, half of which was overwritten, would be a lie.


class WholeRegisters:
    """Rules by register, those about parts replaced by rules about the whole. Rows that share rules still do."""

    def __init__(self, arch: Arch) -> None:
        self.parts = {part.name: part for part in arch.parts.values()}
        self.last: tuple[Mapping[str, Rule], Mapping[str, Rule]] = {}, {}

    def of(self, rules: Mapping[str, Rule]) -> Mapping[str, Rule]:
        """The same rules, said about whole registers."""
        if rules is not self.last[0]:
            named = self.parts.keys() & rules.keys()
            self.last = rules, self._joined(rules, named) if named else rules
        return self.last[1]

    def _joined(self, rules: Mapping[str, Rule], named: set[str]) -> Mapping[str, Rule]:
        joined = {name: rule for name, rule in rules.items() if name not in named}
        for whole in sorted({self.parts[name].whole for name in named}):
            parts = sorted((p for p in self.parts.values() if p.whole == whole), key=lambda part: part.first_bit)
            joined[whole] = Undefined() if whole in joined else _whole([(part, rules.get(part.name)) for part in parts])
        return joined


def _whole(parts: Sequence[tuple[RegisterPart, Rule | None]]) -> Rule:
    """The rule of a register, given those of its parts, the lowest bits first; None is one without a rule."""
    first = parts[0][1]
    if all(isinstance(rule, SameValue | None) for _, rule in parts):
        return SameValue()
    if isinstance(first, Offset | AtRegister) and all(
        rule == replace(first, offset=first.offset + part.first_bit // 8) for part, rule in parts
    ):
        return first
    return Undefined()


# A row may not grow without bound: no architecture has so many registers, no compiler remembers so many rows.
MAX_REGISTERS = 256
MAX_REMEMBERED = 1024
_USUAL_REGISTERS = 32  # a row with more costs more to copy


_WITH_LOW_BITS = 0xC0  # the top two bits are the opcode, the other six its first operand


class CfaOpcode(IntEnum):
    """DW_CFA_* in the order of the standard (sections 6.4.2.1 to 6.4.2.5), then what vendors added."""

    SET_LOC = 0x01
    ADVANCE_LOC = 0x40
    ADVANCE_LOC1 = 0x02
    ADVANCE_LOC2 = 0x03
    ADVANCE_LOC4 = 0x04
    DEF_CFA = 0x0C
    DEF_CFA_SF = 0x12
    DEF_CFA_REGISTER = 0x0D
    DEF_CFA_OFFSET = 0x0E
    DEF_CFA_OFFSET_SF = 0x13
    DEF_CFA_EXPRESSION = 0x0F
    UNDEFINED = 0x07
    SAME_VALUE = 0x08
    OFFSET = 0x80
    OFFSET_EXTENDED = 0x05
    OFFSET_EXTENDED_SF = 0x11
    VAL_OFFSET = 0x14
    VAL_OFFSET_SF = 0x15
    REGISTER = 0x09
    EXPRESSION = 0x10
    VAL_EXPRESSION = 0x16
    RESTORE = 0xC0
    RESTORE_EXTENDED = 0x06
    REMEMBER_STATE = 0x0A
    RESTORE_STATE = 0x0B
    NOP = 0x00
    AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2C
    AARCH64_NEGATE_RA_STATE = 0x2D  # on SPARC the same number is GNU_window_save
    GNU_ARGS_SIZE = 0x2E
    GNU_NEGATIVE_OFFSET_EXTENDED = 0x2F


_KNOWN = {int(opcode): opcode for opcode in CfaOpcode}


class InitialState(NamedTuple):
    """What a CIE's instructions leave: the row that each of its FDEs begins with."""

    cfa: Rule | None
    registers: Mapping[str, Rule]
    offset: int = 0  # the last one that was given, also behind a CFA by an expression


def initial_state(cie: Cie, section: Reader, arch: Arch) -> InitialState:
    """Execute a CIE's instructions. Raises MalformedTable as ``fde_rows`` does."""
    machine = _RowMachine(Fde(cie.offset, cie, 0, 0, (0, 0)), arch, section.section, None)
    machine.execute(section.part(*cie.instructions))
    return machine.state()


def fde_rows(fde: Fde, section: Reader, arch: Arch, initial: InitialState) -> list[UnwindRow]:
    """The rows of one FDE, in pc order; pcs before a CFA is defined have none.

    Raises MalformedTable, with the section and the offset of the instruction, for one that does not exist or
    cannot stand where it does.
    """
    machine = _RowMachine(fde, arch, section.section, initial)
    machine.execute(section.part(*fde.instructions))
    machine.emit(fde.end)
    return machine.rows


def register_name(arch: Arch, number: int) -> str:
    """The register of a DWARF number; one that the architecture table does not record keeps its number."""
    if number in arch.parts:
        return arch.parts[number].name
    return arch.by_dwarf.get(number, f"dwarf{number}")


class _RowMachine:
    """The row under construction. ``registers`` is never changed in place: rows and remembered states share it."""

    def __init__(self, fde: Fde, arch: Arch, section: str, initial: InitialState | None) -> None:
        self.fde, self.arch = fde, arch
        self.found_by = f"{section}+{fde.offset:#x}"
        self.return_address = register_name(arch, fde.cie.return_register)
        self.pc = fde.start
        self.initial = initial  # None while the CIE's own instructions run
        self.cfa, self.registers, self.offset = initial or InitialState(None, {})
        self.remembered: list[InitialState] = []
        self.rows: list[UnwindRow] = []
        self.whole = WholeRegisters(arch)
        self.reader: Reader | None = None
        self.half_cfa = ""  # since the last row

    def execute(self, reader: Reader) -> None:
        reader.spend("steps", reader.left)  # each instruction takes a byte at least
        self.reader = reader
        while reader.left:
            at = reader.offset
            byte = reader.unsigned(1)
            low = byte & ~_WITH_LOW_BITS if byte & _WITH_LOW_BITS else None
            opcode = _KNOWN.get(byte if low is None else byte & _WITH_LOW_BITS)
            if opcode is None:
                raise reader.error(f"there is no call frame instruction {byte:#04x}", at=at)
            self.instruction(opcode, low, reader, at)

    def instruction(self, opcode: CfaOpcode, low: int | None, reader: Reader, at: int) -> None:
        cie = self.fde.cie
        match opcode:
            # 6.4.2.1 Row creation
            case CfaOpcode.ADVANCE_LOC:
                assert low is not None
                self.advance(self.pc + low * cie.code_factor, reader, at)
            case CfaOpcode.ADVANCE_LOC1:
                self.advance(self.pc + reader.unsigned(1) * cie.code_factor, reader, at)
            case CfaOpcode.ADVANCE_LOC2:
                self.advance(self.pc + reader.unsigned(2) * cie.code_factor, reader, at)
            case CfaOpcode.ADVANCE_LOC4:
                self.advance(self.pc + reader.unsigned(4) * cie.code_factor, reader, at)
            case CfaOpcode.SET_LOC:
                target = reader.pointer(cie.pointer_encoding & ~INDIRECT, self.arch.word)
                assert target is not None  # the FDE's own first pc has this encoding
                self.advance(target, reader, at)
            # 6.4.2.2 CFA definition
            case CfaOpcode.DEF_CFA:
                self.set_cfa(self.register(reader), self.distance(reader))
            case CfaOpcode.DEF_CFA_SF:
                self.set_cfa(self.register(reader), reader.sleb() * cie.data_factor)
            case CfaOpcode.DEF_CFA_REGISTER:
                self.set_register(self.register(reader))
            case CfaOpcode.DEF_CFA_OFFSET:
                self.set_offset(self.distance(reader))
            case CfaOpcode.DEF_CFA_OFFSET_SF:
                self.set_offset(reader.sleb() * cie.data_factor)
            case CfaOpcode.DEF_CFA_EXPRESSION:
                self.cfa = ValExpression(self.expression(reader))
            # 6.4.2.4 Row state: the CFA rule is part of the row
            case CfaOpcode.REMEMBER_STATE:
                if len(self.remembered) >= MAX_REMEMBERED:
                    raise reader.error(f"more than {MAX_REMEMBERED} remembered rows", at=at)
                self.remembered.append(self.state())
            case CfaOpcode.RESTORE_STATE:
                if not self.remembered:
                    raise reader.error("restore_state, and no row is remembered", at=at)
                self.cfa, self.registers, self.offset = self.remembered.pop()
            # 6.4.2.5 Padding; and the size of pushed arguments, which only landing pads need
            case CfaOpcode.NOP:
                pass
            case CfaOpcode.GNU_ARGS_SIZE:
                reader.uleb()
            case CfaOpcode.AARCH64_NEGATE_RA_STATE:
                self.toggle_signed(1, reader, at)
            case CfaOpcode.AARCH64_NEGATE_RA_STATE_WITH_PC:
                self.toggle_signed(3, reader, at)
            case _:
                self.register_rule(opcode, low, reader, at)

    def register_rule(self, opcode: CfaOpcode, low: int | None, reader: Reader, at: int) -> None:
        """6.4.2.3 Register rules: they all start with a register number."""
        name = register_name(self.arch, reader.uleb() if low is None else low)
        factor = self.fde.cie.data_factor
        rule: Rule
        match opcode:
            case CfaOpcode.UNDEFINED:
                rule = Undefined()
            case CfaOpcode.SAME_VALUE:
                rule = SameValue()
            case CfaOpcode.OFFSET | CfaOpcode.OFFSET_EXTENDED:
                rule = Offset(reader.uleb() * factor)
            case CfaOpcode.OFFSET_EXTENDED_SF:
                rule = Offset(reader.sleb() * factor)
            case CfaOpcode.VAL_OFFSET:
                rule = ValOffset(reader.uleb() * factor)
            case CfaOpcode.VAL_OFFSET_SF:
                rule = ValOffset(reader.sleb() * factor)
            case CfaOpcode.REGISTER:
                other = self.register(reader)
                rule = SameValue() if other == name else RegisterPlus(other, 0)
            case CfaOpcode.EXPRESSION:
                rule = ExpressionRule(self.expression(reader))
            case CfaOpcode.VAL_EXPRESSION:
                rule = ValExpression(self.expression(reader))
            case CfaOpcode.GNU_NEGATIVE_OFFSET_EXTENDED:
                rule = Offset(-reader.uleb() * factor)
            case CfaOpcode.RESTORE | CfaOpcode.RESTORE_EXTENDED:
                return self.restore(name, reader, at)
            case _:
                raise AssertionError(opcode)  # `instruction` has dealt with all others
        return self.set(name, rule, reader, at)

    def set(self, name: str, rule: Rule, reader: Reader, at: int) -> None:
        self.registers = {**self.registers, name: rule}
        if len(self.registers) > MAX_REGISTERS:
            raise reader.error(f"rules for more than {MAX_REGISTERS} registers", at=at)
        if len(self.registers) > _USUAL_REGISTERS:
            reader.spend("steps", len(self.registers) // _USUAL_REGISTERS)

    def restore(self, name: str, reader: Reader, at: int) -> None:
        """Back to the rule that the CIE's instructions gave the register; without one, to the ABI's default."""
        if self.initial is None:
            raise reader.error("a CIE restores a register: it has no earlier rule to go back to", at=at)
        if name in self.initial.registers:
            self.registers = {**self.registers, name: self.initial.registers[name]}
        else:
            self.registers = {other: rule for other, rule in self.registers.items() if other != name}

    def toggle_signed(self, bits: int, reader: Reader, at: int) -> None:
        """AADWARF64, section 4.2: bit 0 "signed", bit 1 "with the pc", both zero at the start of a function."""
        if self.arch.ra_sign_state is None:
            raise reader.error(f"call frame instruction {reader.data[at]:#04x} has no meaning on {self.arch}", at=at)
        before = self.registers.get(RA_SIGNED, Constant(0))
        assert isinstance(before, Constant)  # nothing else writes it: it is no name of a DWARF register
        self.set(RA_SIGNED, Constant(before.value ^ bits), reader, at)

    def advance(self, target: int, reader: Reader, at: int) -> None:
        if self.initial is None:
            raise reader.error("a CIE moves the location", at=at)
        if not self.pc <= target <= self.fde.end:
            where = f"{self.fde.start:#x} to {self.fde.end:#x}"
            raise reader.error(f"the location goes from {self.pc:#x} to {target:#x}; the FDE is for {where}", at=at)
        self.emit(target)

    def emit(self, end: int) -> None:
        """The row as it is now holds up to ``end``."""
        if self.pc < end and self.cfa is not None:
            signal_frame = self.fde.cie.is_signal
            rules = self.whole.of(self.registers)
            if self.reader is not None:
                shared = bool(self.rows) and self.rows[-1].registers is rules
                self.reader.spend("entries", 1 if shared else 1 + len(rules) // 8)
            row = UnwindRow(self.pc, end, self.cfa, rules, self.return_address, signal_frame, self.found_by)
            self.rows.append(replace(row, half_cfa=self.half_cfa) if self.half_cfa else row)
            self.half_cfa = ""
        self.pc = end

    def register(self, reader: Reader) -> str:
        return register_name(self.arch, reader.uleb())

    def distance(self, reader: Reader) -> int:
        """An unsigned distance. Assemblers write a negative one as the word that it is: `.cfi_def_cfa_offset -16`."""
        bits = 8 * self.arch.word
        value = reader.uleb() & self.arch.word_mask
        return value - (value >> bits - 1 << bits)

    def set_cfa(self, register: str, offset: int) -> None:
        self.cfa, self.offset = RegisterPlus(register, offset), offset

    # Half of a CFA is not valid without the other half (6.4.2.2). Here it means what libgcc and gdb make of it.

    def set_register(self, register: str) -> None:
        if not isinstance(self.cfa, RegisterPlus):
            self.half_cfa = f"count by the last offset behind DW_CFA_def_cfa_register {register}"
        self.set_cfa(register, self.offset)

    def set_offset(self, offset: int) -> None:
        if isinstance(self.cfa, RegisterPlus):
            self.set_cfa(self.cfa.register, offset)
        else:
            self.half_cfa, self.offset = f"pass over DW_CFA_def_cfa_offset {offset}", offset

    def state(self) -> InitialState:
        return InitialState(self.cfa, self.registers, self.offset)

    def expression(self, reader: Reader) -> tuple[Operation, ...]:
        size, start = reader.uleb(), reader.offset
        reader.take(size)
        return parse_expression(reader.part(start, reader.offset), self.arch.word)
