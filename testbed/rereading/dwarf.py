"""Call frame information read again: entries and instructions, executed here for the one FDE that is asked for.

Sources: DWARF 5, sections 6.4 and 7.24; LSB 5.0 core, section 10.6; AADWARF64, section 4. Where the standards leave an
entry without meaning there is no row: an augmentation that says of nothing how long it is, a version that does not
exist, a location outside the FDE, a CFA that is half set, an expression with an operation that there is not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from elftools.dwarf.constants import DW_CFA

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.image import Image
from testbed.rereading.expression import check
from testbed.rereading.rows import CFA, ByExpression, Lost, NoRow, Plus, SecondRow, SecondRule, Word
from testbed.rereading.table_bytes import OMITTED, TableBytes

SecondReader = Callable[[int], SecondRow | NoRow]
_WIDE = 0xFFFF_FFFF  # as a length: the entry is of 64-bit DWARF
_INDIRECT = 0x80  # in an encoding of pointers: where it is, not what it is
_WITHOUT_DATA = "SBG"  # letters of an augmentation: a signal's frame, the other key, tagged memory


class _FdePlace(NamedTuple):
    """The pcs ``[start, end)`` of an FDE, and where it lies in its section."""

    start: int
    end: int
    offset: int


class _FrameEntry(NamedTuple):
    """What follows the length and the mark of an entry; ``cie`` is where the CIE of an FDE lies, None for a CIE."""

    body: TableBytes
    cie: int | None


class _SecondCie(NamedTuple):
    code_factor: int
    data_factor: int
    return_column: int
    encoding: int
    has_data: bool
    is_signal: bool
    instructions: TableBytes | None  # None: the augmentation cannot be skipped


def eh_frame(image: Image, section: str = ".eh_frame") -> SecondReader:
    """The rows of ``.eh_frame``, by the first FDE that covers a pc."""
    return FrameSection(image, section, True).row_at


def debug_frame(image: Image) -> SecondReader:
    """The rows of ``.debug_frame``, by the first FDE that covers a pc."""
    return FrameSection(image, ".debug_frame", False).row_at


class FrameSection:
    """One section of call frame information. Its FDEs are placed in one pass; an FDE is read when it is asked for."""

    def __init__(self, image: Image, name: str, is_eh: bool) -> None:
        section = image.sections[name]
        self.arch, self.name, self.address = image.arch, name, section.address
        self._data, self._is_eh = section.data, is_eh
        self._rows, self._cie = lru_cache(maxsize=4096)(self._execute), lru_cache(maxsize=4096)(self._read_cie)
        self.unplaced = 0  # FDEs that do not say where they are

    @cached_property
    def _places(self) -> Sequence[_FdePlace]:
        places = []
        for offset in self._fdes():
            try:
                place = self.place(offset)
            except (LookupError, ValueError):  # this one entry is lost, not the table
                self.unplaced += 1
                continue
            if place.start not in (0, self.arch.word_mask):  # code that the linker has removed
                places.append(place)
        return sorted(places)

    @cached_property
    def _reach(self) -> Sequence[int]:
        """How far the FDEs before each one reach, and all of them: some may overlap."""
        return list(accumulate((place.end for place in self._places), max, initial=0))

    def _fdes(self) -> Iterator[int]:
        """Where each FDE begins. An entry's length says where the next one does."""
        at = 0
        while at < len(self._data):
            following = self._extent(at).end
            if following == at + 4:  # a length of zero
                if self._is_eh:
                    return
            else:
                try:
                    is_fde = self._entry(at).cie is not None
                except (LookupError, ValueError):
                    self.unplaced, is_fde = self.unplaced + 1, False
                if is_fde:
                    yield at
            at = following

    def _extent(self, offset: int) -> TableBytes:
        """What follows the length of an entry. Raises IndexError where that is not in the section."""
        head = TableBytes(self._data, offset, len(self._data))
        length = head.number(4)
        return head.block(head.number(8) if length == _WIDE else length)

    def _entry(self, offset: int) -> _FrameEntry:
        body = self._extent(offset)
        size = 8 if not self._is_eh and self._data[offset : offset + 4] == b"\xff" * 4 else 4
        at, mark = body.at, body.number(size)
        if mark == (0 if self._is_eh else (1 << 8 * size) - 1):
            return _FrameEntry(body, None)
        cie = at - mark if self._is_eh else mark
        if not 0 <= cie < len(self._data):
            raise ValueError(f"a CIE at {cie:#x}")
        return _FrameEntry(body, cie)

    def _read_cie(self, offset: int) -> _SecondCie:
        body, other = self._entry(offset)
        version = body.number(1)
        if other is not None or version not in (1, 3, 4):
            raise ValueError(f"a CIE of version {version} at {offset:#x}")
        letters = body.take(body.data.index(b"\0", body.at) - body.at).decode("ascii")
        body.take(1)
        has_data, encoding, is_signal = letters.startswith("z"), 0, "S" in letters
        if not has_data and letters.strip(_WITHOUT_DATA):
            return _SecondCie(1, 1, 0, 0, False, is_signal, None)
        if version == 4 and (body.number(1), body.number(1)) != (self.arch.word, 0):
            raise ValueError("a CIE of other addresses")
        factors = body.leb128(), body.leb128(True)
        column = body.number(1) if version == 1 else body.leb128()
        if has_data:
            encoding = self._encoding(letters[1:], body.block(body.leb128()))
        return _SecondCie(*factors, column, encoding, has_data, is_signal, body)

    def _encoding(self, letters: str, data: TableBytes) -> int:
        """How an FDE says its pcs, by the data of an augmentation."""
        encoding = 0
        for i, letter in enumerate(letters):
            if letter == "R":
                encoding = data.number(1)
            elif letter == "L":
                data.number(1)
            elif letter == "P":
                if (personality := data.number(1)) != OMITTED:
                    data.pointer(personality & 0x0F, self.arch.word, 0)
            elif letter not in _WITHOUT_DATA:
                if "R" in letters[i:]:
                    raise ValueError(f"an augmentation {letter!r}")
                break
        return encoding

    def place(self, offset: int) -> _FdePlace:
        """The pcs of the FDE at an offset of the section."""
        return self._fde(offset)[0]

    def _fde(self, offset: int) -> tuple[_FdePlace, _SecondCie, TableBytes]:
        """An FDE's pcs, its CIE, and what follows its pcs."""
        body, named = self._entry(offset)
        if named is None:
            raise ValueError(f"no FDE at {offset:#x}")
        cie = self._cie(named)
        if cie.encoding & _INDIRECT:
            raise ValueError(f"pcs with the encoding {cie.encoding:#x}")
        start = body.pointer(cie.encoding, self.arch.word, self.address)
        end = start + body.pointer(cie.encoding & 0x0F, self.arch.word, 0)
        if end > self.arch.word_mask + 1:
            raise ValueError("an FDE beyond the last address")
        return _FdePlace(start, end, offset), cie, body

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
        said = self._rows(place)
        return said.rows[bisect_right(said.locations, pc) - 1]

    def _execute(self, place: _FdePlace) -> _FdeRows:
        _, cie, body = self._fde(place.offset)
        if cie.instructions is None:
            raise ValueError("an augmentation that cannot be skipped")
        if cie.has_data:
            body.take(body.leb128())
        machine = _FdeMachine(self.arch, cie, self.address)
        machine.execute(replace(cie.instructions), 0, 0)
        machine.begin()
        states = machine.execute(body, place.start, place.end)
        rows = [_row(self.arch, place, state, cie.return_column, cie.is_signal) for _, state in states]
        return _FdeRows([at for at, _ in states], rows)


def _row(arch: Arch, place: _FdePlace, state: _FdeState, column: int, signal_frame: bool) -> SecondRow | NoRow:
    rules = {_name(arch, number): rule for number, rule in state.rules.items()}
    name = _name(arch, column)
    returns = rules.pop(name, Plus(name) if name == arch.link or name in platform(arch).preserved else None)
    if state.cfa is None:
        return NoRow("no CFA is defined yet")
    if returns is None or column in arch.parts:
        return NoRow("the row does not say where the return address is")
    if name in platform(arch).preserved:  # the call wrote over it, whatever the ABI says
        rules[name] = Lost()
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
    offset: int = 0  # of the CFA: the last one
    rules: dict[int, SecondRule] = field(default_factory=dict)
    signed: bool = False

    def with_cfa(self, base: str | SecondRule, offset: int) -> _FdeState:
        return replace(self, cfa=Plus(base, offset), offset=offset)

    def with_rule(self, column: int, rule: SecondRule | None) -> _FdeState:
        others = {number: kept for number, kept in self.rules.items() if number != column}
        return replace(self, rules=others if rule is None else others | {column: rule})


@dataclass(frozen=True, slots=True)
class _FdeRows:
    """What one FDE says: from each location on a row."""

    locations: Sequence[int]
    rows: Sequence[SecondRow | NoRow]


_ADVANCES = (DW_CFA.advance_loc, DW_CFA.advance_loc1, DW_CFA.advance_loc2, DW_CFA.advance_loc4)
# The operands behind an instruction, as `TableBytes.operands` has them (DWARF 5, section 7.24); those of vendors last.
_OPERANDS: Mapping[int, str] = {
    DW_CFA.advance_loc: "",
    DW_CFA.advance_loc1: "1",
    DW_CFA.advance_loc2: "2",
    DW_CFA.advance_loc4: "4",
    DW_CFA.offset: "u",
    DW_CFA.restore: "",
    DW_CFA.offset_extended: "uu",
    DW_CFA.restore_extended: "u",
    DW_CFA.nop: "",
    DW_CFA.undefined: "u",
    DW_CFA.same_value: "u",
    DW_CFA.register: "uu",
    DW_CFA.remember_state: "",
    DW_CFA.restore_state: "",
    DW_CFA.def_cfa: "uu",
    DW_CFA.def_cfa_register: "u",
    DW_CFA.def_cfa_offset: "u",
    DW_CFA.def_cfa_expression: "b",
    DW_CFA.expression: "ub",
    DW_CFA.val_expression: "ub",
    DW_CFA.offset_extended_sf: "us",
    DW_CFA.def_cfa_sf: "us",
    DW_CFA.def_cfa_offset_sf: "s",
    DW_CFA.val_offset: "uu",
    DW_CFA.val_offset_sf: "us",
    0x2C: "",
    DW_CFA.AARCH64_negate_ra_state: "",
    DW_CFA.GNU_args_size: "u",
    0x2F: "uu",
}


class _FdeMachine:
    """Executes the instructions of a CIE, then those of an FDE."""

    def __init__(self, arch: Arch, cie: _SecondCie, address: int) -> None:
        self.arch, self.cie, self.address = arch, cie, address
        self.state = _FdeState()
        self.initial: dict[int, SecondRule] | None = None  # None: there is nothing yet to go back to
        self._remembered: list[_FdeState] = []

    def begin(self) -> None:
        """Go over from the CIE's instructions to those of an FDE."""
        self.initial = self.state.rules
        self._remembered.clear()

    def execute(self, code: TableBytes, location: int, end: int) -> list[tuple[int, _FdeState]]:
        """The state that holds from each location on. Of several for one location the last holds."""
        rows = []
        while code.left:
            opcode, low = code.number(1), []
            if opcode >= DW_CFA.advance_loc:
                low, opcode = [opcode & 0x3F], opcode & 0xC0
            if opcode == DW_CFA.set_loc:
                to = code.pointer(self.cie.encoding, self.arch.word, self.address)
            else:
                arguments = [*low, *code.operands(_OPERANDS[opcode], self.arch.word)]
                if opcode not in _ADVANCES:
                    self._one(opcode, *arguments)
                    continue
                to = location + arguments[0] * self.cie.code_factor  # type: ignore[operator]
            if self.initial is None or not location <= to <= end:
                raise ValueError(f"a location {to:#x}")
            rows.append((location, self.state))
            location = to
        return [*rows, (location, self.state)]

    def _one(self, opcode: int, first: Any = None, second: Any = None) -> None:
        state, factor = self.state, self.cie.data_factor
        match opcode:
            case DW_CFA.def_cfa:
                state = state.with_cfa(self._register(first), self._signed(second))
            case DW_CFA.def_cfa_sf:
                state = state.with_cfa(self._register(first), second * factor)
            case DW_CFA.def_cfa_register:
                state = state.with_cfa(self._register(first), state.offset)
            case DW_CFA.def_cfa_offset | DW_CFA.def_cfa_offset_sf:
                offset = self._signed(first) if opcode == DW_CFA.def_cfa_offset else first * factor
                # It is not valid without a register (DWARF 5, section 6.4.2.2); libgcc and gdb wait for one.
                cfa = replace(state.cfa, offset=offset) if isinstance(state.cfa, Plus) else state.cfa
                state = replace(state, cfa=cfa, offset=offset)
            case DW_CFA.def_cfa_expression:
                state = replace(state, cfa=self._expression(first, False))
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
                state = state.with_rule(first, self._word(first, self._expression(second)))
            case DW_CFA.val_expression:
                state = state.with_rule(first, self._expression(second))
            case 0x2F:  # GNU_negative_offset_extended
                state = state.with_rule(first, self._word(first, Plus(CFA, -second * factor)))
            case DW_CFA.restore | DW_CFA.restore_extended if self.initial is not None:
                state = state.with_rule(first, self.initial.get(first))
            case DW_CFA.remember_state:
                self._remembered.append(state)
            case DW_CFA.restore_state:
                state = self._remembered.pop()
            case DW_CFA.AARCH64_negate_ra_state | 0x2C if self.arch.ra_sign_state is not None:
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

    def _expression(self, code: bytes, on_cfa: bool = True) -> ByExpression:
        check(code, self.arch.word)
        return ByExpression(code, on_cfa)

    def _signed(self, offset: int) -> int:
        """An unfactored offset below zero stands there as the word that it is."""
        offset &= self.arch.word_mask
        return offset - (self.arch.word_mask + 1) if offset > self.arch.word_mask // 2 else offset
