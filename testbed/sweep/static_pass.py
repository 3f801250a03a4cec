"""The static pass over one file: every entry of a table agrees, is suspect, or cannot be told.

What is found is in columns of numbers; the words for it stand below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch, PerArch, PerIsa
from testbed.conventions import Convention, platform
from testbed.conventions.chosen import chosen
from testbed.image import Image, once_per_image
from testbed.native.compiled import sooner
from testbed.rereading import NoRow, Plus, SecondRow, Word, reread
from testbed.rereading.ehabi import entry_starts
from testbed.sweep.native import check, codes, conform, entries, flow, room, rows, state, survey
from testbed.sweep.native.codes import CFA_BASE, KIND, SIGNED
from testbed.sweep.native.room import MachineNumbers, SweptFile, WorkRoom
from testbed.words.errors import ImageError
from testbed.words.table_formats import BY_SECTION

TABLES = (".eh_frame", ".debug_frame", ".ARM.exidx")  # the sections that the pass reads
_ROUNDS = 3
_MOST_DOUBTED = 16  # calls of an entry that perhaps do not come back: with more of them nobody can tell
MOST_DEBUG_INFO = 1 << 20  # bytes
_NUMBERS = PerArch({"x86_64": codes.X86_64, "arm64": codes.ARM64, "arm32": codes.ARM32})
_SHORTEST = PerArch({"x86_64": 1, "arm64": 4, "arm32": 2})  # instruction, in bytes
_MODES = PerIsa[int | None](
    {"x86_64": None, "arm64": None, "a32": codes.A32, "thumb": codes.THUMB},
    because=dict.fromkeys(("x86_64", "arm64"), "all code of a file is in its one instruction set"),
)


def machine_numbers(arch: Arch, its: Convention | None = None) -> MachineNumbers:
    """An architecture and a convention, its platform's if none is named, as kernels want it."""
    number = _NUMBERS[arch.name]

    def places(name: str) -> Iterator[int]:
        """Where a register stands in a state: its words, from the lowest one on."""
        own = arch.by_name[name]
        first = rows.kept_register(own.dwarf or 0, number)
        yield from range(first, first + max(own.bits // (8 * arch.word), 1))

    (back,), (stack,), (frame,) = map(places, (arch.return_address, arch.sp, arch.frame_pointers[0]))
    kept = sorted({back, *(k for each in (its or platform(arch)).saved if each.column for k in places(each.column))})
    general = 16 if number == codes.X86_64 else rows.REGISTERS[number]
    clobbered = [k for k in range(general) if k not in kept and k != stack] + ([back] if arch.link else [])
    return MachineNumbers(
        number,
        stack,
        back,
        -arch.entry_cfa,
        frame,
        arch.word,
        _SHORTEST[arch.name],
        np.array(kept, np.int64),
        np.array(sorted(clobbered), np.int64),
    )


@dataclass(frozen=True, eq=False)
class StaticPass:
    """A file's entries, rows and what is said of each entry, in the columns of `testbed.sweep.native`."""

    swept: SweptFile
    machine: MachineNumbers
    out: NDArray[np.int64]


@cache
def work_room() -> WorkRoom:
    """Room for one entry at a time, made once."""
    return WorkRoom(
        np.full(room.MOST_BYTES, -1, np.int32),
        np.zeros(room.MOST_HEADS, np.int64),
        np.zeros(room.MOST_HEADS, np.uint8),
        np.zeros((room.MOST_HEADS, state.STATE_SIZE), np.int64),
        np.zeros((room.SPARES, state.STATE_SIZE), np.int64),
        np.zeros((room.FOUND_ROWS, room.FOUND_COLUMNS), np.int64),
        np.zeros(20, np.int64),
        np.full(room.MOST_BYTES, -1, np.int32),
        np.zeros((room.MOST_DECODED, room.DECODED_COLUMNS), np.int64),
        np.zeros((room.MOST_DECODED + codes.MOST_OPERATIONS, 5), np.int64),
        np.zeros(40, np.int64),
        np.zeros(2, np.int64),
        np.zeros((room.MOST_SITES, 3), np.int64),
        np.zeros(room.COUNTS, np.int64),
        np.zeros(1, np.int64),
        np.zeros((0, room.RECORD_STATE + state.STATE_SIZE), np.int64),
    )


def recorded(made: StaticPass, i: int) -> NDArray[np.int64]:
    """The instructions of an entry, each with what is known before it: the columns from `room.RECORD_PC` on."""
    out = np.zeros((i + 1, room.OUT_COLUMNS), np.int64)
    out[i], record = made.out[i], work_room().record
    while len(record) < (size := int(out[i, room.INSTRUCTIONS])):  # what is behind a crash was perhaps not counted
        record = np.zeros((size, room.RECORD_STATE + state.STATE_SIZE), np.int64)
        recording = work_room()._replace(record=record)
        sooner(check.check_entries, size)(made.swept, np.array([i]), recording, made.machine, out)
    return record[:size]


def read_tables(image: Image, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The CIEs, the entries in order of their code, and the rows of a section."""
    if BY_SECTION[name].at_calls:
        return _read_index(image, name)
    section = image.sections[name]
    table = entries.SectionInFile(
        np.frombuffer(image.content, np.uint8),
        section.offset,
        section.offset + section.filled,
        section.address,
        name == ".eh_frame",
        image.arch.word,
    )
    number = machine_numbers(image.arch).which
    size = section.filled
    most = sooner(entries.count_entries, size)(table)
    cies = np.zeros((most + 1, entries.CIE_COLUMNS), np.int64)
    found = np.zeros((most + 1, entries.ENTRY_COLUMNS), np.int64)
    cursor = np.zeros(1, np.int64)
    _, count, _ = sooner(entries.read_entries, size)(table, cies, np.zeros(most + 1, np.int64), found, cursor)
    found = found[:count]
    found = np.ascontiguousarray(found[np.argsort(found[:, entries.START], kind="stable")])
    width = rows.RULES + rows.REGISTERS[number]
    scratch = np.zeros((rows.MOST_REMEMBERED + 3, width), np.int64)
    progress = np.zeros(2, np.int64)
    told = np.zeros((16 * count + 64, width), np.int64)  # what is not filled in takes no memory
    fill = sooner(rows.fill_rows, size)
    while fill(table, cies, found, told, scratch, number, progress) == rows.NO_ROOM:
        wider = np.zeros((2 * len(told) + 4096, width), np.int64)
        wider[: progress[1]] = told[: progress[1]]
        told = wider
    return cies, found, np.ascontiguousarray(told[: progress[1]])


def _read_index(image: Image, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """As `read_tables` does, of `.ARM.exidx`: an entry has one row, and what says that it has no caller has none.

    Linkers join entries that say the same. Where a function is known to begin, one begins here.
    """
    try:
        index = entry_starts(image)
    except ValueError as error:
        raise ImageError(image.path, image.sections[name].offset, f"{name} cannot be read: {error}") from error
    functions = (each.address for each in image.symbols if each.is_function and index and each.address > index[0])
    starts = sorted({*index, *functions})
    ends = [*starts[1:], max((each.address + each.size for each in image.segments if each.executable), default=0)]
    which, nothing = machine_numbers(image.arch).which, np.zeros(rows.RULES + rows.REGISTERS[codes.ARM32], np.int64)
    cies = np.zeros((1, entries.CIE_COLUMNS), np.int64)
    found, told = list[tuple[int, ...]](), list[NDArray[np.int64]]()
    for start, end in zip(starts, ends, strict=True):
        said = reread(image, name, start)
        if isinstance(said, NoRow) and said.is_said:
            continue
        row = _row_of(image.arch, start, said, which)
        state = entries.READ if row is not None else entries.BAD_ROWS
        found.append((start, end, 0, 0, 0, 0, state, len(told), len(told) + 1))
        told.append(nothing if row is None else row)
    return cies, np.array(found, np.int64).reshape(-1, entries.ENTRY_COLUMNS), np.array([nothing, *told])[1:]


def _row_of(arch: Arch, start: int, said: SecondRow | NoRow, which: int) -> NDArray[np.int64] | None:
    """A row of the second reader's as columns of `testbed.sweep.native.rows`; None where these cannot say it."""
    if isinstance(said, NoRow) or not isinstance(said.cfa, Plus) or said.cfa.base not in arch.by_name:
        return None
    row = np.zeros(rows.RULES + rows.REGISTERS[which], np.int64)
    row[rows.PC], row[rows.CFA_OFFSET] = start, said.cfa.offset
    row[rows.CFA_REGISTER] = arch.by_name[str(said.cfa.base)].dwarf or 0
    for name, rule in {**said.registers, arch.return_address: said.return_address}.items():
        if name not in arch.by_name:  # no convention has it kept
            continue
        if isinstance(rule, Word) and isinstance(rule.at, Plus) and rule.at.base == said.cfa.base:
            rows.set_rule(row, arch.by_name[name].dwarf, rows.AT_CFA, rule.at.offset - said.cfa.offset, which)
        elif rule != Plus(name):
            return None
    return row


@once_per_image
def static_pass(image: Image, name: str = ".eh_frame") -> StaticPass:
    """What the instructions of a file say of its rows; `.ARM.exidx` is only held against where functions call."""
    swept, much = surveyed(image, name)
    made = rows_held(swept, machine_numbers(image.arch), much)
    if BY_SECTION[name].at_calls:
        _doubt_instruction_sets(image, made)
    _hold_to_own_conventions(image, made)
    _doubt_other_frames(made)
    return made


@once_per_image
def surveyed(image: Image, name: str) -> tuple[SweptFile, int]:
    """A file of which is known what its code calls, and how many bytes of code its entries are for."""
    cies, found, told = read_tables(image, name)
    nothing, at_calls = np.zeros(0, np.int64), BY_SECTION[name].at_calls
    swept = SweptFile(*_code_of(image), found, cies, told, at_calls, nothing, nothing, *_lists(found, calls=0))
    ends, called = np.zeros(len(found) + 1, np.int64), np.zeros(len(image.content) // 5 + 1, np.int64)
    much = int((found[:, entries.END] - found[:, entries.START]).clip(0, room.MOST_BYTES).sum())
    ended, calls = sooner(survey.survey, much)(swept, work_room(), machine_numbers(image.arch), ends, called)
    led, doubted, returning = _lists(found, calls)
    swept = swept._replace(endless=np.unique(ends[:ended]), called=np.unique(called[:calls]))
    return swept._replace(led=led, doubted=doubted, returning=returning), much


def _doubt_instruction_sets(image: Image, made: StaticPass) -> None:
    """Take back what contradicts a row where no symbol says the instruction set: of a stripped file that is a guess."""
    if image.data_marks:  # its mapping symbols are there
        return
    told = [address for address, _ in image.isa_marks]
    for i in np.flatnonzero(made.out[:, room.VERDICT] == room.SUSPECT).tolist():
        if int(made.swept.entries[i, entries.START]) not in told:
            _not_known(made, i, room.NO_SET, int(made.swept.entries[i, entries.START]))


def _doubt_other_frames(made: StaticPass) -> None:
    """Take back what contradicts a row with a rule for SP itself: its author means another frame, as longjmp's."""
    for i in np.flatnonzero(made.out[:, room.VERDICT] == room.SUSPECT).tolist():
        row = made.swept.rows[int(made.out[i, room.OUT_ROW])]
        if int(row[rows.RULES + made.machine.stack]) & ((1 << rows.BITS) - 1) not in (rows.SAME, rows.IS_CFA):
            _not_known(made, i, room.OTHER_FRAME, int(made.out[i, room.OUT_AT]))


def _not_known(made: StaticPass, i: int, why: int, pc: int) -> None:
    made.out[i, [room.VERDICT, room.ABOUT, room.OUT_AT]] = room.CANNOT_TELL, why, pc
    made.out[i, room.ALL_FOUND] = made.out[i, room.AT_CALLS] = 0


def asks_conventions(image: Image) -> bool:
    """Whether functions are asked for their conventions: reading much debug information takes longer than all else."""
    debug = image.sections.get(".debug_info")
    return debug is None or debug.filled <= MOST_DEBUG_INFO


def _hold_to_own_conventions(image: Image, made: StaticPass) -> None:
    """Compare once more what is doubted, by its function's convention where that is not the platform's."""
    if not asks_conventions(image):
        return
    of: dict[Convention, list[int]] = {}
    for i in np.flatnonzero(made.out[:, room.VERDICT] != room.AGREES).tolist():
        its = chosen(image, int(made.swept.entries[i, entries.START])).convention
        if its != platform(image.arch):
            of.setdefault(its, []).append(i)
    for its, some in of.items():
        machine = machine_numbers(image.arch, its)
        sooner(check.check_entries, len(some))(made.swept, np.array(some), work_room(), machine, made.out)
    if of and not made.swept.at_calls:
        sooner(check.doubt_parts, len(made.out))(made.swept, made.machine, made.out)


def rows_held(swept: SweptFile, machine: MachineNumbers, much: int) -> StaticPass:
    """What the instructions say of rows; ``much`` is how many bytes of code they are for."""
    out = np.zeros((len(swept.entries), room.OUT_COLUMNS), np.int64)
    asked = np.arange(len(swept.entries))
    for _ in range(_ROUNDS):
        sooner(check.check_entries, much)(swept, asked, work_room(), machine, out)
        never = np.setdiff1d(swept.doubted[1 : swept.doubted[0] + 1], swept.returning[1 : swept.returning[0] + 1])
        endless = np.union1d(np.union1d(swept.endless, never), swept.entries[_never_returns(out), entries.START])
        asked = np.flatnonzero(out[:, room.VERDICT] != room.AGREES)
        if not len(asked):
            break
        swept = swept._replace(endless=endless)
    made = StaticPass(swept, machine, out)
    if swept.at_calls:
        for i in np.flatnonzero(out[:, room.VERDICT] == room.SUSPECT).tolist():
            _doubt_calls(made, i)
    else:
        sooner(check.doubt_parts, len(out))(swept, machine, out)
    return made


def _doubt_calls(made: StaticPass, i: int) -> None:
    """Take back that a row is wrong, if it is right where the calls before do not come back.

    A table for calls has no row that begins behind one, and a function that nobody names may begin there.
    """
    swept, given, out = made.swept, work_room(), np.zeros((i + 1, room.OUT_COLUMNS), np.int64)
    out[i], pc = made.out[i], int(made.out[i, room.OUT_AT])
    for _ in range(_MOST_DOUBTED):
        if out[i, room.VERDICT] != room.SUSPECT or out[i, room.INSTRUCTIONS] > room.MOST_DECODED:
            break
        walked = recorded(replace(made, swept=swept), i)[:, room.RECORD_PC]
        for pc in sorted(walked[walked < out[i, room.OUT_AT]].tolist(), reverse=True):
            way, target = flow_at(made, pc)
            if way in (codes.CALL, codes.CALL_AWAY) and target not in swept.endless:
                break
        else:
            return
        swept = swept._replace(endless=np.union1d(swept.endless, [target]))
        sooner(check.check_entries, len(walked))(swept, np.array([i]), given, made.machine, out)
    _not_known(made, i, room.MAY_NOT_RETURN, pc)


def flow_at(made: StaticPass, pc: int) -> tuple[int, int]:
    """Where control goes from an instruction: the flow, and the target."""
    given, (begin, end) = work_room(), room.place_in_file(made.swept.segments, pc)
    _, way, target, _ = flow.decode(made.machine.which, made.swept, begin, end, pc, given.fields, given.operations)
    return way, target


def is_part(made: StaticPass, i: int) -> bool:
    """Whether an entry's first row is no function's: it is a part of one, or begins in the midst of a frame."""
    entry = made.swept.entries[i]
    if made.swept.at_calls:
        return bool(made.swept.led[i] > room.BY_NOBODY)
    if entry[entries.FIRST_ROW] >= entry[entries.LAST_ROW]:
        return False
    return not conform.begins_function(made.swept.rows[entry[entries.FIRST_ROW]], made.machine)


def jumpers(image: Image, name: str, asked: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """The entries whose code jumps into some ranges, which are in order and do not overlap, from outside of them."""
    _, found, _ = read_tables(image, name)
    if not len(found):
        return found
    nothing = np.zeros(0, np.int64)
    swept = SweptFile(*_code_of(image), found, found, found, False, nothing, nothing, *_lists(found, calls=0))
    into = np.zeros(len(found), np.uint8)
    ranges = np.array(asked, np.int64).reshape(-1, 2)
    much = int((found[:, entries.END] - found[:, entries.START]).clip(0, room.MOST_BYTES).sum())
    sooner(survey.jumps_into, much)(swept, work_room(), machine_numbers(image.arch), ranges, into)
    jumping: NDArray[np.int64] = found[into != 0]
    return jumping


def _code_of(image: Image) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """A file's bytes, which of them lie where, and what its code is from an address on."""
    segments = np.array([(s.address, s.offset, s.filled) for s in image.segments] or [(0, 0, 0)], np.int64)
    known = ((address, _MODES[isa.name]) for address, isa in image.isa_marks)
    modes = {address: mode for address, mode in known if mode is not None}
    modes |= dict.fromkeys(image.data_marks, codes.DATA) if modes else {}
    return np.frombuffer(image.content, np.uint8), segments, np.array(sorted(modes.items()), np.int64).reshape(-1, 2)


def _lists(found: NDArray[np.int64], calls: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Room for what the pass finds out besides: see `SweptFile`."""
    return np.zeros(len(found) + 1, np.int64), np.zeros(len(found) + 2, np.int64), np.zeros(2 * calls + 64, np.int64)


def _never_returns(out: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The functions whose code has no end: who calls one, does not come back."""
    found: NDArray[np.bool_] = (out[:, room.RETURNS] == 0) & (out[:, room.INSTRUCTIONS] > 0)
    found &= out[:, room.VERDICT] == room.AGREES
    return found


# The words for what is found: its cause, and a sentence.

_CFA_WAYS = {
    room.IN_TURN: "CFA: an instruction moved it, and the row is for before",
    room.JUMPED: "CFA: a jump leads to a row for another one",
    room.CALLED: "CFA: the row behind a call is for another one",
    room.LANDED: "CFA: the row at a landing pad is for another one",
    room.SWITCHED: "CFA: the row behind a jump table is for another one",
    room.LEFT: "CFA: the function ends somewhere else on the stack than its rows say",
}
_REASONS = {
    room.NO_INSTRUCTION: "bytes that are no instruction that is known",
    room.MAY_NOT_RETURN: "a call that perhaps does not come back",
    room.NOT_ENDING: "a loop in which what is known goes on changing",
    room.TOO_LARGE: "more code, or more jumps, than one entry may have",
    room.NO_CODE: "code that the file does not hold",
    room.IN_SIGNAL: "a frame that the kernel makes for a signal",
    room.LEAVES_BADLY: "a way to a row for another frame, perhaps for a case that never comes",
    room.NO_PART: "its first row is that of a part of a function, and nothing leads to it so",
    room.NO_SET: "code whose instruction set the file does not tell",
    room.OTHER_FRAME: "a row with a rule for SP itself: another frame than the caller's",
    room.NOT_REACHED: "code that nothing is known to lead to, and in which no row begins: perhaps data",
    room.BAD_TABLE: "an entry that breaks the format, or says what is not known",
}
_RULES = {
    rows.SAME: "a register is overwritten that the row says is unchanged",
    rows.AT_CFA: "a register is not where the row says it is saved",
    rows.IS_CFA: "a register is not the value that the row says",
    rows.IN_REGISTER: "a register is not in the one that the row says",
    rows.AT_EXPRESSION: "an expression leads to another place",
    rows.IS_EXPRESSION: "an expression has another value",
}


def register_name(arch: Arch, place: int) -> str:
    """The name of a register by its place in a state; each of a wide one's words has its name."""
    return _names(arch).get(place, f"r{place}")


@cache
def _names(arch: Arch) -> Mapping[int, str]:
    number = _NUMBERS[arch.name]
    names = {rows.kept_register(dwarf, number): name for dwarf, name in arch.by_dwarf.items()}
    wide = {place: name for place, name in names.items() if arch.by_name[name].bits > 8 * arch.word}
    return {place + 1: name for place, name in wide.items()} | names


def cause_of(found: NDArray[np.int64], row: NDArray[np.int64] | None) -> str:
    """The class of what was found of an entry."""
    about = int(found[room.ABOUT])
    is_suspect = found[room.VERDICT] == room.SUSPECT
    if about in _REASONS:
        return _REASONS[about]
    if about == room.CFA_FOUND:
        return _CFA_WAYS[int(found[room.OUT_WAY])] if is_suspect else "CFA: what it counts from is not known"
    assert row is not None
    rule = int(row[rows.RULES + about - room.REGISTER_FOUND]) & ((1 << rows.BITS) - 1)
    return _RULES[rule] if is_suspect else "a register: whether it is where the row says is not known"


def sentence_of(arch: Arch, found: NDArray[np.int64], row: NDArray[np.int64] | None) -> str:
    """What was found of an entry: the row, what it says, what is there, and how control came there."""
    about = int(found[room.ABOUT])
    at, before = int(found[room.OUT_AT]), int(found[room.OUT_FROM])
    if about in _REASONS:
        return f"{at:#x}: {_REASONS[about]}"
    assert row is not None
    _, said, there = said_and_there(arch, found, row)
    way = "" if before < 0 else f", coming from {before:#x}"
    others = [each for each in range(1, 41) if int(found[room.ALL_FOUND]) >> each & 1 and each != about]
    named = dict.fromkeys(register_name(arch, each - 1) for each in others)
    named.pop(register_name(arch, about - room.REGISTER_FOUND), None)
    besides = f"; wrong besides: {', '.join(named)}" if named else ""
    besides += "; wrong at a call, too" if found[room.AT_CALLS] else ""
    return f"{at:#x} (row of {int(row[rows.PC]):#x}): the row says {said}; {there}{way}{besides}"


def said_and_there(arch: Arch, found: NDArray[np.int64], row: NDArray[np.int64]) -> tuple[str, str, str]:
    """What a row is wrong about ("CFA" or a register), what it says of that, and what is there."""
    about, held = int(found[room.ABOUT]), held_words(arch, int(found[room.OUT_HELD]))
    if about == room.CFA_FOUND:
        counted = register_name(arch, int(row[rows.CFA_REGISTER])) if row[rows.CFA_REGISTER] >= 0 else "that"
        return "CFA", f"CFA = {_cfa_words(arch, row)}", f"{counted} is {held}"
    own = about - room.REGISTER_FOUND
    name = register_name(arch, own)
    return name, f"{name} is {_rule_words(arch, int(row[rows.RULES + own]))}", f"there is {held}"


def held_words(arch: Arch, value: int) -> str:
    """What a register or a word holds, in words."""
    kind = value >> KIND
    if kind == codes.CALLERS:
        return f"the caller's {register_name(arch, value & 0xFF)}{' with a signature' if value & SIGNED else ''}"
    if kind == codes.NUMBER:
        return f"{_low(value):#x}"
    if kind == codes.PLACE:
        distance = _signed(_low(value))
        return (
            f"CFA{distance}"
            if value >> 48 & 0xFF == CFA_BASE
            else "an address in the stack, at a distance from the CFA that is not known"
        )
    return "another value, not the caller's" if kind == codes.OTHER else "something that is not known"


def _low(value: int) -> int:
    return ((value & (1 << 48) - 1) ^ 1 << 47) - (1 << 47)


def _signed(distance: int) -> str:
    return f"{'-' if distance < 0 else '+'}{abs(distance):#x}" if distance else ""


def _cfa_words(arch: Arch, row: NDArray[np.int64]) -> str:
    if row[rows.CFA_REGISTER] < 0:
        return "an expression"
    return f"{register_name(arch, int(row[rows.CFA_REGISTER]))}{_signed(int(row[rows.CFA_OFFSET]))}"


def _rule_words(arch: Arch, rule: int) -> str:
    kind, number = rule & (1 << rows.BITS) - 1, rule >> rows.BITS
    words: dict[int, Callable[[], Any]] = {
        rows.SAME: lambda: "unchanged",
        rows.AT_CFA: lambda: f"at CFA{_signed(number)}",
        rows.IS_CFA: lambda: f"CFA{_signed(number)}",
        rows.IN_REGISTER: lambda: f"in {register_name(arch, number)}",
    }
    return str(words.get(kind, lambda: "what an expression says")())
