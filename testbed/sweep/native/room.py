"""What the static pass works on and with: a file's tables and code, a machine, room for states, what is found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import compiled

# How control came to the place of a finding.
IN_TURN, JUMPED, CALLED, LANDED, SWITCHED, LEFT = range(6)

# How sure a finding is; of a row that is contradicted on a way that perhaps nobody comes, ANOTHERS: nothing is sure.
FINE, UNSURE, CONTRADICTED, ANOTHERS = range(4)

# What a finding is about, by rows of `found`: the CFA, then each register, then what stands here.
CFA_FOUND, REGISTER_FOUND = 0, 1
(NO_INSTRUCTION, MAY_NOT_RETURN, NOT_ENDING, TOO_LARGE, NO_CODE, IN_SIGNAL, BAD_TABLE, LEAVES_BADLY, NO_PART) = range(
    41, 50
)
NO_SET, OTHER_FRAME, NOT_REACHED, FOUND_ROWS = 50, 51, 52, 53
# Of what is surely wrong, IS_FIRST says that it was right before the instruction that control came from.
SURENESS, AT, FROM, WAY, HELD, ROW_OF, IS_FIRST = range(7)
FOUND_COLUMNS = 7

# What is said of an entry.
AGREES, SUSPECT, CANNOT_TELL = range(3)
(
    VERDICT,
    ABOUT,
    OUT_AT,
    OUT_FROM,
    OUT_WAY,
    OUT_HELD,
    OUT_ROW,
    INSTRUCTIONS,
    RETURNS,
    PRIVATE,
    UNLED,
    ALL_FOUND,
    AT_CALLS,
) = range(13)
OUT_COLUMNS = 13

MOST_HEADS = 20_000
MOST_BYTES = 1 << 21
MOST_SITES = 5_000
MOST_DECODED = 1 << 18  # instructions of one entry that are decoded once; what is behind, each time


class MachineNumbers(NamedTuple):
    """An architecture's convention: which it is, SP, the return address's register, SP at the entry, the frame pointer;
    how many bytes a word has, and how many the shortest instruction; the registers that calls preserve, and those that
    they do not."""

    which: int
    stack: int
    return_address: int
    entry: int
    frame: int
    word: int
    step: int
    kept: NDArray[np.int64]
    clobbered: NDArray[np.int64]


class SweptFile(NamedTuple):
    """The file, its segments (address, place, size), what its code is from an address on (of an ARM32 file: see
    `codes.A32`), its entries in order of their code, their rows, whether these hold where functions call only; what
    never comes back when it is called, and what is called, ascending.

    To be filled in: the parts that somebody jumps to with what their rows say; what was called where the code behind is
    for another frame, and where it is reached from there only: the first number says how many."""

    octets: NDArray[np.uint8]
    segments: NDArray[np.int64]
    modes: NDArray[np.int64]
    entries: NDArray[np.int64]
    cies: NDArray[np.int64]
    rows: NDArray[np.int64]
    at_calls: bool
    endless: NDArray[np.int64]
    called: NDArray[np.int64]
    led: NDArray[np.int64]  # by entry: who leads there as its first row says: see `BY_NOBODY`
    doubted: NDArray[np.int64]
    returning: NDArray[np.int64]


class WorkRoom(NamedTuple):
    """Room for one entry at a time."""

    marks: NDArray[np.int32]  # by byte of its code: the number of the head there, or -1
    head_pc: NDArray[np.int64]
    pending: NDArray[np.uint8]  # bits: 1 to be gone through, 2 was gone through; neither: nothing led there yet
    states: NDArray[np.int64]
    spare: NDArray[np.int64]  # the state here, the state on an edge, the two states at jumps that are not known
    found: NDArray[np.int64]
    fields: NDArray[np.int64]
    decoded_at: NDArray[np.int32]  # by byte of its code: the row in `decoded`, or -1, or `LOADED`
    decoded: NDArray[np.int64]  # see `LENGTH`
    operations: NDArray[np.int64]  # of the instructions in `decoded`, then of the one that was decoded last
    stack: NDArray[np.int64]
    compared: NDArray[np.int64]
    sites: NDArray[np.int64]
    counts: NDArray[np.int64]
    target: NDArray[np.int64]
    record: NDArray[np.int64]  # of the instructions in the order of the last walk, if there is room: see `RECORD_PC`


# Places in `counts`: heads, call sites, instructions, whether findings are written, exits, whether a rule is an
# expression, registers that are changed at an exit, those that perhaps are, those that an exit gives back, jumps to
# unknown places, heads that nothing led to, what is written to `led` of parts that this entry jumps to, the first head
# whose state a walk changed, whether the instruction is a call, what is surely wrong at a call, what is wrong at the
# instruction, and was at the one that control came from, whether it ends where its rows do not say, whether a CFA
# counts from an argument, registers that are overwritten and in no other register meanwhile.
(HEADS, SITES, WALKED, WRITES, EXITS, IS_WIDE, CHANGED_AT_EXIT, PERHAPS_AT_EXIT, KEPT_AT_EXIT) = range(9)
(AT_JUMPS, AT_LEAF_JUMPS, UNLED_HEADS, LEADER, EARLIEST, IS_CALL, WRONG_AT_CALLS) = range(9, 16)
(WRONG_NOW, WRONG_BEFORE, ENDS_ELSEWHERE, IS_GIVEN, GONE) = range(16, 21)
COUNTS = 21
# Columns of `decoded`.
LENGTH, FLOW, TARGET, FIRST_OPERATION, OPERATION_COUNT, TO_UNKNOWN, AS_DATA = range(7)
# TO_UNKNOWN: of straight code to a jump to anywhere. AS_DATA: an instruction takes its address, or the bytes before it
# are no instruction.
DECODED_COLUMNS = 7
LOADED, NAMED = -2, -3  # in `decoded_at`: data, which instructions before it load; what they take the address of
# In `led`: nobody; an entry that begins as a function does; nobody, and it ends where a function would end that began
# here. Of another one, its number and 1.
BY_NOBODY, BY_FUNCTION, AS_FUNCTION = 0, -1, -2
# Columns of `record`: an instruction, how surely its row is contradicted, the state before it.
RECORD_PC, RECORD_SURENESS, RECORD_STATE = range(3)
HERE, ON_EDGE, JUMP_STATE, LEAF_STATE, SEEDED = range(5)
SPARES = 5


@compiled()
def place_in_file(segments: Any, address: Any) -> Any:
    """Where in the file an address lies, and where its segment ends there; -1 where it lies in none."""
    for k in range(len(segments)):
        if 0 <= address - segments[k, 0] < segments[k, 2]:
            at = segments[k, 1] + address - segments[k, 0]
            return at, segments[k, 1] + segments[k, 2]
    return -1, -1


@compiled()
def first_not_below(sorted_numbers: Any, wanted: Any) -> Any:
    """Where the first of many numbers, which ascend, stands that is not below one."""
    low, high = 0, len(sorted_numbers)
    while low < high:
        middle = (low + high) // 2
        if sorted_numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(inline=True)
def is_among(sorted_numbers: Any, wanted: Any) -> Any:
    """Whether a number is one of many, which ascend."""
    at = first_not_below(sorted_numbers, wanted)
    return at < len(sorted_numbers) and sorted_numbers[at] == wanted


@compiled()
def last_not_above(table: Any, column: Any, begin: Any, end: Any, wanted: Any) -> Any:
    """The last row of a part of a table whose number in a column is not above one; ``begin - 1`` where none is."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if table[middle, column] <= wanted:
            low = middle + 1
        else:
            high = middle
    return low - 1


@compiled(inline=True)
def list_call(target: Any, targets: Any, room: Any) -> None:
    """Write down what was called; the first number says how many there are."""
    if room.counts[WRITES] and targets[0] + 1 < len(targets):
        targets[0] += 1
        targets[targets[0]] = target


@compiled()
def note(room: Any, about: Any, sureness: Any, at: Any, came: Any, held: Any, row: Any) -> None:
    """Write a finding down, unless one that is as sure is known of where it begins, or of a place before.

    Nothing is written at times: see `WRITES`.
    """
    if room.counts[WRITES] == 0:
        return
    is_first = 0
    if sureness == CONTRADICTED:
        is_first = 1 - (room.counts[WRONG_BEFORE] >> about & 1)
        room.counts[WRONG_NOW] |= 1 << about
        is_by_call = is_first and about != CFA_FOUND and came[1] == CALLED  # which overwrites the return address
        if room.counts[IS_CALL] or is_by_call:
            room.counts[WRONG_AT_CALLS] |= 1 << about
    found, (before, way) = room.found[about], came
    rank = 2 * (sureness - found[SURENESS]) + is_first - found[IS_FIRST]
    if rank > 0 or (rank == 0 and (at < found[AT] or (at == found[AT] and found[FROM] < 0))):
        found[SURENESS], found[AT], found[FROM], found[WAY] = sureness, at, before, way
        found[HELD], found[ROW_OF], found[IS_FIRST] = held, row, is_first
