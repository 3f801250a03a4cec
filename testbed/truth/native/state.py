"""What the rules of the truth know at one step: activations and stacks, in columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Columns of `links`. The caller; the stack that it was entered on; the step at its entry; the activation that its steps
# belong to, if that is another one (-1); of a record, the activation that its second reading gives the steps to; of an
# activation, the last record whose first reading gives it steps; what it is;
# the record by which it was thought gone; its number in the run.
PARENT, STACK, OPENED, READ, SECOND, RECORD, KIND, LOST, SERIAL = range(9)
LINKS = 9
# Columns of `addresses`: return address, CFA, SP at entry, where control went if not to the return address, where the
# return address was stored, and the link register behind the call.
RETURN, CFA, ENTRY, GOES_ON, KEPT_AT, TARGET = range(6)
ADDRESSES = 6
# Columns of `marks`: may it go on; was its return address stored; did its word come off the stack at once; did it
# return by itself; of the bottom of a stack: did it begin elsewhere; is it undecided: its second reading was found too
# late, or no effect tells.
ALIVE, KEPT, DROPPED, RETURNED, ELSEWHERE, LATE = range(6)
MARKS = 6
# What a row of the columns is: the bottom of a stack; a call; one that may be none; a jump with an address to come back
# to, which may be a call; a signal's frame. And records: did a jump land, or was it on the way; did an activation
# return, or go on.
BOTTOM, CALL, MAYBE, PROMISE, SIGNAL, LANDED, ENDED, BACK, AWAY = range(9)
# Columns of `spans`: SP when the stack was begun, and when it was left.
BEGUN, LEFT = range(2)
# Columns of `owners`: the mapping that a stack lies in, and who was left on it.
REGION, TOP = range(2)
# Places of `now`: how many activations and stacks there are; the innermost activation, and the row to which its steps
# are given; the stack that SP is on; the next event; how many changes and jumps were noted; a jump to another
# stack, or up, behind which nothing was called or over yet: its record, or -1; who has just returned, or -1; how many
# rows the run has had; whether SP has come to another thread's stack since the last jump.
USED, STACKS, INNERMOST, GIVEN, ON, NEXT, CHANGES, JUMPS, WAY, OVER, MADE_ROWS, ARRIVED = range(12)
NOW = 12
# Places of `last`: SP and the link register at the last event.
LAST_SP, LAST_LINK = range(2)
# Bits of `Events.what`; TAKEN: SP has come to where another thread left a stack.
TRANSFER, CALLS, UNDONE, HANDLER, RESUMED, TAKEN = 1, 2, 4, 8, 16, 32


class State(NamedTuple):
    """Activations and stacks; ``table`` finds the activation that was opened last of those with one place."""

    links: NDArray[np.int64]
    addresses: NDArray[np.uint64]
    marks: NDArray[np.bool_]
    spans: NDArray[np.uint64]
    owners: NDArray[np.int64]
    table: NDArray[np.int64]
    now: NDArray[np.int64]
    last: NDArray[np.uint64]


class Events(NamedTuple):
    """The candidate steps: the row behind an instruction, pc and SP there, the instruction's address, the address
    behind it, SP before it; what it looks like; where it stored the link register (0); an address that was put at SP
    since the event before (0)."""

    row: NDArray[np.int64]
    pc: NDArray[np.uint64]
    sp: NDArray[np.uint64]
    site: NDArray[np.uint64]
    fall: NDArray[np.uint64]
    before: NDArray[np.uint64]
    what: NDArray[np.uint8]
    kept_at: NDArray[np.uint64]
    ahead: NDArray[np.uint64]


class Log(NamedTuple):
    """Where the activation that steps are given to changes, and jumps, with who left and the record of it (or -1)."""

    change_rows: NDArray[np.int64]
    change_nodes: NDArray[np.int64]
    jumps: NDArray[np.int64]


class Setting(NamedTuple):
    """What is known of the machine: mappings and code, in order; the size of a word, CFA - SP at an entry; the
    registers at each row, those that a jump may take its address from, the link register (-1: calls push), the bits of
    an address; the size of an instruction that computes pc, or 0; the step of the first row; how many steps may lie
    between the two readings of a row."""

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    code_starts: NDArray[np.uint64]
    code_ends: NDArray[np.uint64]
    word: np.int64
    entry_cfa: np.uint64
    registers: NDArray[np.uint64]
    columns: NDArray[np.int64]
    link: np.int64
    mask: np.uint64
    jump_size: np.uint64
    first: np.int64
    bound: np.int64
