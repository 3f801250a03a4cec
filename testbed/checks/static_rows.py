"""A table's rows where nothing executed them, as the static pass of a sweep reads them.

The pass judges a whole entry of a table. Where that agrees, all its instructions do. Of a suspect one it says what is
true before each instruction, as if that had been executed; but not where it believes the table, since nothing is known
there. What was executed weighs more: see `StaticReading.suspects`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.model import WrongThing
from testbed.checks.true_rows import ObservedRow, TruePlace
from testbed.contract.rows import RegisterPlus, RowTable, UnwindRow, ValOffset
from testbed.conventions import Convention, platform
from testbed.conventions.chosen import chosen
from testbed.image import Image
from testbed.micro.code_scan import scan
from testbed.micro.function_parts import linkers_code
from testbed.sweep.native import entries, room, rows
from testbed.sweep.native.codes import CFA_BASE, KIND, MAYBE, PLACE, RETURN, SIGNED, callers, low
from testbed.sweep.native.state import BELIEVED, FIRST_WORD, IS_ASSUMED, REGISTER_COUNT, UNREACHED, WORDS
from testbed.sweep.static_pass import (
    TABLES,
    StaticPass,
    asks_conventions,
    flow_at,
    machine_numbers,
    recorded,
    register_name,
    said_and_there,
    static_pass,
    surveyed,
)
from testbed.truth import Truth
from testbed.words.errors import UnwindError
from testbed.words.table_formats import TABLE_FORMATS

NOT_READ = f"the static pass reads these of linked ELF files only: {', '.join(TABLES)}"
_START_CODE = (".init", ".fini")  # sections that a linker puts together
_VISITS = 64  # activations that are looked at
_JUMP, _SIZES = 16, (1 << 10, 1 << 13, 1 << 16)  # bytes


@dataclass(frozen=True, eq=False)
class SuspectEntry:
    """An entry that the pass contradicts ``at`` an instruction, where control came ``came`` from (-1: it does not say).

    ``things`` are all that its rows say wrongly, ``thing`` the one here. ``wrong`` are the instructions of which it
    says that their rows are wrong; of ``pcs`` it knows what is ``true``, once that is asked for.
    """

    at: int
    came: int
    thing: WrongThing
    things: frozenset[str]
    wrong: frozenset[int]
    pcs: frozenset[int]
    observed: Callable[[], dict[int, ObservedRow]] = field(repr=False)

    @cached_property
    def true(self) -> dict[int, ObservedRow]:
        return self.observed()


@dataclass(frozen=True, eq=False)
class StaticReading:
    """What the static pass says of one table of a file."""

    image: Image
    table: RowTable
    made: StaticPass

    def agrees(self, pcs: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """At which of some instructions the rows agree with the code; what nothing leads to begins as its row says."""
        at, there = self._entries_of(pcs)
        if not there.any():
            return there
        there &= self.made.out[at, room.VERDICT] == room.AGREES
        own = [i for i in np.unique(at[there]).tolist() if self._convention(i) is not None and self._tells_callers(i)]
        return np.asarray(there & np.isin(at, own))

    def contradicted(self, pcs: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """At which instructions the rows are contradicted on some way, and of which that can be told."""
        at, there = self._entries_of(pcs)
        verdicts = self.made.out[:, room.VERDICT]
        told = (i for i in np.unique(at[there]).tolist() if verdicts[i] != room.CANNOT_TELL)
        own = [i for i in told if self._convention(i) is not None and self._tells_callers(i)]
        wrong = [pc for i in own if verdicts[i] == room.SUSPECT for pc in self._wrong(i)]
        return np.isin(pcs, np.array(wrong, np.uint64)), np.asarray(there & np.isin(at, own))

    def _entries_of(self, pcs: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The entry of each instruction, and whether it has one."""
        of_entries = self.made.swept.entries
        if not len(of_entries):
            return np.zeros(len(pcs), np.int64), np.zeros(len(pcs), np.bool_)
        found = np.searchsorted(of_entries[:, entries.START], pcs.astype(np.int64), side="right") - 1
        at = np.maximum(found, 0)
        return at, (found >= 0) & (pcs.astype(np.int64) < of_entries[at, entries.END])

    def _wrong(self, i: int) -> frozenset[int]:
        """The instructions of a suspect entry at which its rows are wrong."""
        record, at = self._recorded(i), int(self.made.out[i, room.OUT_AT])
        every = record[record[:, room.RECORD_SURENESS] == room.CONTRADICTED, room.RECORD_PC]
        return frozenset({at, *every.tolist()}) if not self.made.out[i, room.PRIVATE] else frozenset({at})

    def suspects(self, asked: Collection[int]) -> Iterator[SuspectEntry]:
        """The entries that are contradicted at instructions that are ``asked`` for.

        None whose first row is that of no function, and which the pass takes for one since a call leads there: who
        calls libgcc's `__morestack` knows that its rows leave him out.
        """
        entry_cfa = RegisterPlus(self.image.arch.sp, self.image.arch.entry_cfa)
        for i in np.flatnonzero(self.made.out[:, room.VERDICT] == room.SUSPECT).tolist():
            out = self.made.out[i]
            at, arch = int(out[room.OUT_AT]), self.image.arch
            if at not in asked:
                continue
            its = self._convention(i, own=asks_conventions(self.image))
            row = self.table.at(at)
            is_no_entry = row is not None and row.cfa != entry_cfa
            is_no_entry = is_no_entry and at == int(self.made.swept.entries[i, entries.START])
            if its is None or is_no_entry or is_another_frame(row, arch):
                continue
            known = (
                each for each in self._recorded(i) if each[room.RECORD_STATE + IS_ASSUMED] not in (BELIEVED, UNREACHED)
            )
            own = (each for each in known if int(each[room.RECORD_PC]) in asked)
            record = [each for each in own if not is_another_frame(self.table.at(int(each[room.RECORD_PC])), arch)]
            found = int(out[room.ALL_FOUND])
            yield SuspectEntry(
                at,
                int(out[room.OUT_FROM]),
                WrongThing(*said_and_there(arch, out, self.made.swept.rows[out[room.OUT_ROW]])),
                frozenset(register_name(arch, k - 1) if k else "CFA" for k in range(41) if found >> k & 1),
                self._wrong(i) & {*asked},
                frozenset(int(each[room.RECORD_PC]) for each in record),
                partial(self._observed_of, record, its),
            )

    def true_of_bare(self, wrong: Collection[int], asked: Collection[int]) -> dict[int, ObservedRow]:
        """What is known of entries that have one row for all their code, which is ``wrong`` where it was executed.

        Their directives are written as a whole: what the end gives back, which perhaps nobody executed, belongs to
        them.
        """
        found = dict[int, ObservedRow]()
        for suspect in self.suspects(asked):
            row = self.table.at(suspect.at)
            if row and suspect.pcs & {*wrong} and all(row.start <= pc < row.end for pc in suspect.pcs):
                found |= suspect.true
        return found

    def written(self, asked: NDArray[np.uint64]) -> Iterator[tuple[int, int, str]]:
        """Where code begins and ends of which some instruction is ``asked`` for, each with a register that the
        instructions write: it has another value there than its rows say, or the entry leaves it so. Not that of the
        return address."""
        for suspect in self.suspects({*asked.tolist()}):
            name = suspect.thing.what
            if suspect.things == {name} and name != self.image.arch.link:
                yield suspect.at, suspect.at + 1, name
        at, there = self._entries_of(asked)
        for i in np.unique(at[there]).tolist():
            start, end = (int(self.made.swept.entries[i, column]) for column in (entries.START, entries.END))
            mask = int(self.made.out[i, room.PRIVATE]) if self._convention(i) is not None else 0
            yield from ((start, end, register_name(self.image.arch, k)) for k in range(REGISTER_COUNT) if mask >> k & 1)

    def _tells_callers(self, i: int) -> bool:
        """False of an entry that begins with saying that nobody called: of it nothing is compared."""
        row = self.made.swept.rows[self.made.swept.entries[i, entries.FIRST_ROW]]
        return int(row[rows.RULES + self.made.machine.return_address]) & ((1 << rows.BITS) - 1) != rows.UNSAID

    def _recorded(self, i: int) -> NDArray[np.int64]:
        """What the pass knows at each instruction of an entry, by its own convention."""
        machine = machine_numbers(self.image.arch, self._convention(i, own=asks_conventions(self.image)))
        return recorded(replace(self.made, machine=machine), i)

    def _convention(self, i: int, *, own: bool = False) -> Convention | None:
        """The convention of an entry's function if it is the platform's, to which the pass holds all; ``own``: or its
        own, to which the pass holds what it doubts."""
        its = chosen(self.image, int(self.made.swept.entries[i, entries.START])).convention
        return its if own or its == platform(self.image.arch) else None

    def _observed_of(self, record: Sequence[NDArray[np.int64]], its: Convention) -> dict[int, ObservedRow]:
        rows = (self._observed(int(each[room.RECORD_PC]), each[room.RECORD_STATE :], its) for each in record)
        return {row.pc: row for row in rows}

    def _observed(self, pc: int, state: NDArray[np.int64], its: Convention) -> ObservedRow:
        arch, row = self.image.arch, self.table.at(pc)
        numbers = _numbers(arch)
        values = {name: int(state[k]) for name, k in numbers.items()}
        cfa = {name: -low(value) for name, value in values.items() if name in arch.index and _is_of_cfa(value)}
        words = state[FIRST_WORD : FIRST_WORD + 2 * int(state[WORDS])].reshape(-1, 2).tolist()
        places, signed = {}, False
        back = arch.return_address
        for name in (*its.preserved, back):
            wanted = callers(numbers[name]) if name in numbers else None
            if wanted is None:
                continue
            held = [int(value) & ~SIGNED for value in (values[name], *(value for _, value in words))]
            signed |= name == back and bool(values[name] & SIGNED if held[0] == wanted else False)
            there = [where for (where, _), value in zip(words, held[1:], strict=True) if value == wanted]
            slots = [low(where) for where in there if where >> 48 & 0xFF == CFA_BASE]
            others = (other for other, value in values.items() if other not in (name, arch.pc) and value == wanted)
            in_place = held[0] == wanted and (name != back or arch.link is not None)
            if in_place or slots or held[0] >> KIND != MAYBE:
                places[name] = TruePlace(in_place, frozenset(slots), frozenset(others), back=in_place)
        returns = flow_at(self.made, pc)[0] == RETURN
        return ObservedRow(pc, 1, 1, cfa, places, row.is_signed if row else signed, cfa.get(arch.sp), returns=returns)


@lru_cache
def _numbers(arch: Arch) -> Mapping[str, int]:
    """Where a state holds each register; of a wide one, its first word."""
    return {register_name(arch, k): k for k in reversed(range(REGISTER_COUNT))}


def is_another_frame(row: UnwindRow | None, arch: Arch) -> bool:
    """Has it a rule for SP itself? Its author means another frame than the caller's, as longjmp's."""
    return row is not None and row.registers.get(arch.sp, ValOffset(0)) != ValOffset(0)


def changed_at_all(
    reading: StaticReading, watched: Truth, pc: NDArray[np.uint64], steps: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Whether activations have changed the registers that the instructions write (`written`), up to some ``steps``.

    (start of that code, column of the register, 1 where one has), each once.
    """
    found, registers, columns = list[tuple[int, int, int]](), watched.trace.registers, reading.image.arch.index
    for start, end, name in reading.written(np.unique(pc[steps])):
        own = steps & (pc >= start) & (pc < end)
        last = dict(zip(watched.node[own].tolist(), np.flatnonzero(own).tolist(), strict=True))
        for node, step in list(last.items())[:_VISITS] if name in columns else ():
            since = slice(int(watched.activations.opened[node]), step + 1)
            values = registers[since, columns[name]][watched.node[since] == node]
            found.append((start, columns[name], int((values != values[0]).any())))
    return np.unique(np.array(found, np.uint64).reshape(-1, 3), axis=0)


def _is_of_cfa(value: int) -> bool:
    return value >> KIND == PLACE and value >> 48 & 0xFF == CFA_BASE


@lru_cache(maxsize=4)
def read_statically(image: Image, name: str, table: RowTable) -> StaticReading | None:
    """A table as the static pass reads it; None for a format or a file that it does not read."""
    section = TABLE_FORMATS[name].section
    return StaticReading(image, table, static_pass(image, section)) if _is_read(image, section) else None


def _is_read(image: Image, name: str) -> bool:
    section = image.sections.get(name)
    if section is None or section.name not in TABLES or image.relocatable:
        return False
    return image.content[section.offset : section.offset + len(section.data)] == section.data  # not packed, or others'


def called_without_rows(image: Image, tables: Mapping[str, RowTable | UnwindError]) -> Mapping[int, int]:
    """The code that code with rows calls, and that no table has a row for: where it begins and ends.

    None of what linkers add, which lies in sections of its own, or is a jump through a register.
    """
    found, known = set[int](), [table for table in tables.values() if isinstance(table, RowTable)]
    for table in known:
        # Where the data among code is not marked, it may look like a call.
        if _is_read(image, table.source) and (len(image.arch.isas) == 1 or image.data_marks):
            found.update(surveyed(image, table.source)[0].called.tolist())
    added = linkers_code(image, *_START_CODE)
    found -= {place for start, end in added for place in found if start <= place < end}
    found -= {place for place in found if any(table.at(place) for table in known)}
    return {place: _end_of(image, place) for place in sorted(found) if not scan(image, place, place + _JUMP).indirect}


def _end_of(image: Image, start: int) -> int:
    """Where code ends that begins somewhere: no branch of it leads further, and no instruction goes on."""
    for most in _SIZES:
        code, furthest = scan(image, start, start + most), start
        for place in sorted(code.sizes):
            if place in code.behind and furthest < place < start + most - _JUMP:
                return place
            furthest = max(furthest, code.branches.get(place, (start, start))[0])
    return start + _SIZES[-1]


def doubted_ways(image: Image, tables: Mapping[str, RowTable | UnwindError]) -> Iterator[tuple[int, int]]:
    """The ways, (from, to), on which a row is wrong by the instructions: what is executed may say so, or acquit."""
    for name, table in tables.items():
        if isinstance(table, RowTable) and (made := read_statically(image, name, table)):
            out = made.made.out[made.made.out[:, room.VERDICT] == room.SUSPECT]
            yield from map(tuple, out[:, [room.OUT_FROM, room.OUT_AT]].tolist())
