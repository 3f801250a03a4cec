"""Call frame information read by pyelftools: its raw instructions, executed here for the one FDE that is asked for.

What pyelftools makes of the instructions is wrong in places (``def_cfa_sf``, ``GNU_args_size``, ``restore`` without a
rule in the CIE, ``negate_ra_state``); its entries and operands are right. Where it cannot read an entry, there is no
row. Sources: DWARF 5, section 6.4; LSB 5.0 core, section 10.6; AADWARF64, section 4.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from elftools.dwarf.callframe import CallFrameInfo
from elftools.dwarf.constants import DW_CFA
from elftools.dwarf.structs import DWARFStructs

from testbed.arch import Arch
from testbed.image import Image
from testbed.rereading.rows import CFA, ByExpression, Lost, NoRow, Plus, SecondRow, SecondRule, Word

SecondReader = Callable[[int], SecondRow | NoRow]
_ABSOLUTE = 0  # an encoding of pointers: plain addresses
_WIDE = 0xFFFF_FFFF  # as a length: the entry is of 64-bit DWARF


class _FdePlace(NamedTuple):
    """The pcs ``[start, end)`` of an FDE, and where it lies in its section."""

    start: int
    end: int
    offset: int


def eh_frame(image: Image, section: str = ".eh_frame") -> SecondReader:
    """The rows of ``.eh_frame``, by the first FDE that covers a pc."""
    return FrameSection(image, section, True).row_at


def debug_frame(image: Image) -> SecondReader:
    """The rows of ``.debug_frame``, by the first FDE that covers a pc."""
    return FrameSection(image, ".debug_frame", False).row_at


class _Entries(CallFrameInfo):  # type: ignore[misc]
    """pyelftools' entries, but for what it makes of augmentations in ``.debug_frame``: there they have no data."""

    def _parse_cie_augmentation(self, header: Any, entry_structs: Any) -> Any:
        letters = bytes(header.get("augmentation", b""))
        if self.for_eh_frame or letters not in (b"S", b""):
            return super()._parse_cie_augmentation(header, entry_structs)
        return b"", {}


class FrameSection:
    """One section of call frame information. Its FDEs are placed in one pass; an FDE is parsed when it is asked for."""

    def __init__(self, image: Image, name: str, is_eh: bool) -> None:
        section = image.sections[name]
        self.arch, self.name, self.address = image.arch, name, section.address
        self._data, self._is_eh = section.data, is_eh
        structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=image.arch.word)
        self._info: Any = _Entries(
            io.BytesIO(section.data), len(section.data), section.address, structs, for_eh_frame=is_eh
        )
        self._rows = lru_cache(maxsize=4096)(self._execute)
        self.unplaced = 0  # FDEs of which pyelftools cannot say where they are

    @cached_property
    def _places(self) -> Sequence[_FdePlace]:
        places = []
        for offset in self._fdes():
            try:
                places.append(self.place(offset))
            except Exception:  # whatever pyelftools stumbles over: this one entry is lost, not the table
                self.unplaced += 1
        return sorted(places)

    @cached_property
    def _reach(self) -> Sequence[int]:
        """How far the FDEs before each one reach, and all of them: some may overlap."""
        return list(accumulate((place.end for place in self._places), max, initial=0))

    def _fdes(self) -> Iterator[int]:
        """Where each FDE begins. An entry's length says where the next one does."""
        data, at = self._data, 0
        while at + 4 <= len(data):
            (length,) = struct.unpack_from("<I", data, at)
            size = 4
            if length == _WIDE:
                (length,) = struct.unpack_from("<Q", data, at + 4)
                size = 8
            if length == 0 and self._is_eh:
                return  # the terminator
            body = at + (12 if size == 8 else 4)
            if length and data[body : body + size] != (b"\0" if self._is_eh else b"\xff") * size:
                yield at
            at = body + length

    def place(self, offset: int) -> _FdePlace:
        """The pcs of the FDE at an offset of the section."""
        is_wide = self._data[offset : offset + 4] == b"\xff" * 4
        structs = DWARFStructs(little_endian=True, dwarf_format=64 if is_wide else 32, address_size=self.arch.word)
        header = self._info._parse_fde_header(structs, offset)
        start = self.arch.code_address(header["initial_location"] & self.arch.word_mask)
        return _FdePlace(start, start + (header["address_range"] & self.arch.word_mask), offset)

    def row_at(self, pc: int) -> SecondRow | NoRow:
        covering = []
        i = bisect_right(self._places, pc, key=lambda place: place.start)
        while i and self._reach[i] > pc:
            i -= 1
            if pc < self._places[i].end:
                covering.append(self._places[i])
        if covering:
            return self.row_of(min(covering, key=lambda place: place.offset), pc)
        if self.unplaced:
            lost = f"{self.unplaced} FDEs of {self.name}"
            return NoRow(f"the second reader cannot read {lost}, and no other covers {pc:#x}")
        return NoRow(f"no FDE of {self.name} covers {pc:#x}")

    def row_of(self, place: _FdePlace, pc: int) -> SecondRow | NoRow:
        """The row of an FDE at a pc that it covers."""
        if not place.start <= pc < place.end:
            return NoRow(f"the FDE at {self.name}+{place.offset:#x} does not cover {pc:#x}")
        row = self._rows(place)
        state = row.states[bisect_right(row.locations, pc) - 1]
        return _row(self.arch, place, state, row.return_column, row.is_signal)

    def _execute(self, place: _FdePlace) -> _FdeRows:
        fde = self._info._parse_entry_at(place.offset)
        cie = fde.cie
        if cie.augmentation_dict.get("FDE_encoding", _ABSOLUTE) != _ABSOLUTE and any(
            instruction.opcode == DW_CFA.set_loc for instruction in fde.instructions
        ):
            raise ValueError("DW_CFA_set_loc with an encoded pointer")
        machine = _FdeMachine(self.arch, cie["code_alignment_factor"], cie["data_alignment_factor"])
        machine.execute(cie.instructions, place.start)
        machine.initial = machine.state.rules
        rows = machine.execute(fde.instructions, place.start)
        is_signal = b"S" in bytes(cie.header.get("augmentation", b""))
        return _FdeRows([at for at, _ in rows], [state for _, state in rows], cie["return_address_register"], is_signal)


def _row(arch: Arch, place: _FdePlace, state: _FdeState, column: int, signal_frame: bool) -> SecondRow | NoRow:
    rules = {_name(arch, number): rule for number, rule in state.rules.items()}
    returns = rules.pop(_name(arch, column), None)
    if returns is None and _name(arch, column) == arch.link:
        returns = Plus(arch.link)
    if returns is None:
        return NoRow("the row does not say where the return address is")
    if state.cfa is None and not isinstance(returns, Lost):
        return NoRow("no CFA is defined yet")
    if signal_frame and arch.link == _name(arch, column):
        rules[_name(arch, column)] = returns
    cfa, signed = state.cfa, state.signed
    return SecondRow(arch, place.start, place.end, place.offset, cfa, returns, rules, True, signal_frame, signed)


def _name(arch: Arch, column: int) -> str:
    """The register of a column, as this architecture's table names it."""
    part = arch.parts.get(column)
    return part.name if part else arch.by_dwarf.get(column, f"column {column}")


@dataclass(frozen=True, slots=True)
class _FdeState:
    """The row that is being made: rules by column. A new one each time, so that it can be remembered as it is."""

    cfa: SecondRule | None = None
    rules: dict[int, SecondRule] = field(default_factory=dict)
    signed: bool = False

    def with_rule(self, column: int, rule: SecondRule | None) -> _FdeState:
        others = {number: kept for number, kept in self.rules.items() if number != column}
        return replace(self, rules=others if rule is None else others | {column: rule})


@dataclass(frozen=True, slots=True)
class _FdeRows:
    """What one FDE says: from each location on a state."""

    locations: Sequence[int]
    states: Sequence[_FdeState]
    return_column: int
    is_signal: bool


class _FdeMachine:
    """Executes the instructions of a CIE, then those of an FDE."""

    def __init__(self, arch: Arch, code_factor: int, data_factor: int) -> None:
        self.arch, self.code_factor, self.data_factor = arch, code_factor, data_factor
        self.state = _FdeState()
        self.initial: dict[int, SecondRule] = {}
        self._remembered: list[_FdeState] = []

    def execute(self, instructions: Sequence[Any], location: int) -> list[tuple[int, _FdeState]]:
        """The state that holds from each location on. Of several for one location the last holds."""
        rows = []
        for instruction in instructions:
            match instruction.opcode:
                case DW_CFA.advance_loc | DW_CFA.advance_loc1 | DW_CFA.advance_loc2 | DW_CFA.advance_loc4:
                    rows.append((location, self.state))
                    location += instruction.args[0] * self.code_factor
                case DW_CFA.set_loc:
                    rows.append((location, self.state))
                    location = instruction.args[0]
                case _:
                    self._one(instruction.opcode, *instruction.args)
        return sorted([*rows, (location, self.state)], key=lambda row: row[0])

    def _one(self, opcode: int, first: Any = None, second: Any = None) -> None:
        state, factor = self.state, self.data_factor
        match opcode:
            case DW_CFA.def_cfa:
                state = replace(state, cfa=Plus(self._register(first), self._signed(second)))
            case DW_CFA.def_cfa_sf:
                state = replace(state, cfa=Plus(self._register(first), second * factor))
            case DW_CFA.def_cfa_register:
                state = replace(state, cfa=Plus(self._register(first), self._offset()))
            case DW_CFA.def_cfa_offset:
                state = replace(state, cfa=Plus(self._base(), self._signed(first)))
            case DW_CFA.def_cfa_offset_sf:
                state = replace(state, cfa=Plus(self._base(), first * factor))
            case DW_CFA.def_cfa_expression:
                state = replace(state, cfa=ByExpression(bytes(first), False))
            case DW_CFA.undefined:
                state = state.with_rule(first, Lost())
            case DW_CFA.same_value:
                state = state.with_rule(first, Plus(self._register(first)))
            case DW_CFA.offset | DW_CFA.offset_extended | DW_CFA.offset_extended_sf:
                state = state.with_rule(first, self._word(first, Plus(CFA, second * factor)))
            case DW_CFA.val_offset | DW_CFA.val_offset_sf:
                state = state.with_rule(first, Plus(CFA, second * factor))
            case DW_CFA.register:
                state = state.with_rule(first, Plus(self._register(second)))
            case DW_CFA.expression:
                state = state.with_rule(first, self._word(first, ByExpression(bytes(second), True)))
            case DW_CFA.val_expression:
                state = state.with_rule(first, ByExpression(bytes(second), True))
            case DW_CFA.restore | DW_CFA.restore_extended:
                state = state.with_rule(first, self.initial.get(first))
            case DW_CFA.remember_state:
                self._remembered.append(state)
            case DW_CFA.restore_state:
                state = self._remembered.pop()
            case DW_CFA.AARCH64_negate_ra_state if self.arch.ra_sign_state is not None:
                state = replace(state, signed=not state.signed)
            case DW_CFA.nop | DW_CFA.GNU_args_size:
                pass
            case _:
                raise ValueError(f"an instruction {opcode:#x}")
        self.state = state

    def _register(self, column: int) -> str:
        return _name(self.arch, column)

    def _word(self, column: int, at: SecondRule) -> Word:
        """What lies at an address, as wide as the register is."""
        part, register = self.arch.parts.get(column), self.arch.by_name.get(self._register(column))
        bits = part.bits if part else register.bits if register else 8 * self.arch.word
        return Word(at, bits // 8)

    def _signed(self, offset: int) -> int:
        """An unfactored offset below zero stands there as the word that it is."""
        offset &= self.arch.word_mask
        return offset - (self.arch.word_mask + 1) if offset > self.arch.word_mask // 2 else offset

    def _base(self) -> str | SecondRule:
        if not isinstance(self.state.cfa, Plus):
            raise ValueError("an offset of the CFA before its register")
        return self.state.cfa.base

    def _offset(self) -> int:
        if not isinstance(self.state.cfa, Plus):
            raise ValueError("a register of the CFA before its offset")
        return self.state.cfa.offset
