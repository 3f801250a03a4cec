"""What the code of all entries says together: what is called, what does not come back, who jumps where.

Each instruction of an entry is decoded in its order, whether anything leads to it or not.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import BRANCH, CALL, CALL_AWAY, DATA, JUMP, NOTHING
from testbed.sweep.native.entries import END, READ, START, STATE
from testbed.sweep.native.flow import decode
from testbed.sweep.native.room import last_not_above, place_in_file


@compiled(pays_from=150000)
def survey(swept: Any, room: Any, machine: Any, ends: Any, called: Any) -> Any:
    """What the ends of code say: a call that nothing follows, or data, does not come back. And all that is called.

    Fills in targets; how many of each.
    """
    ended, calls = 0, 0
    for i in range(len(swept.entries)):
        entry = swept.entries[i]
        size = entry[END] - entry[START]
        begin, limit = place_in_file(swept.segments, entry[START])
        if entry[STATE] != READ or begin < 0 or begin + size > limit:
            continue
        at, last = begin, 0
        while at < begin + size:
            pc = entry[START] + at - begin
            length, flow, target, _ = decode(machine.which, swept, at, begin + size, pc, room.fields, room.operations)
            if length == 0:
                if is_data(pc, swept):
                    ended = list_end(last, ends, ended)
                last, length = 0, machine.step
            elif flow in (CALL, CALL_AWAY):
                last = target
                if flow == CALL and calls < len(called):
                    called[calls] = target
                    calls += 1
            elif flow != NOTHING:
                last = 0
            at += length
        ended = list_end(last, ends, ended)
    return ended, calls


@compiled(inline=True)
def is_data(pc: Any, swept: Any) -> Any:
    """Whether data that lies among code is said to be at a place."""
    mode = last_not_above(swept.modes, 0, 0, len(swept.modes), pc)
    return mode >= 0 and swept.modes[mode, 1] == DATA


@compiled(inline=True)
def list_end(last: Any, ends: Any, ended: Any) -> Any:
    """Write down what was called by an instruction that nothing follows, if one did; how many there are then."""
    if last == 0 or ended >= len(ends):
        return ended
    ends[ended] = last
    return ended + 1


@compiled(pays_from=150000)
def jumps_into(swept: Any, room: Any, machine: Any, ranges: Any, into: Any) -> None:
    """Mark the entries whose code jumps into some ranges from outside; the ranges are in order."""
    for i in range(len(swept.entries)):
        entry = swept.entries[i]
        size = entry[END] - entry[START]
        begin, limit = place_in_file(swept.segments, entry[START])
        if entry[STATE] != READ or begin < 0 or begin + size > limit:
            continue
        at = begin
        while at < begin + size:
            pc = entry[START] + at - begin
            length, flow, target, _ = decode(machine.which, swept, at, begin + size, pc, room.fields, room.operations)
            if flow in (JUMP, BRANCH) and length > 0:
                k = last_not_above(ranges, 0, 0, len(ranges), target)
                if k >= 0 and target < ranges[k, 1] and not ranges[k, 0] <= pc < ranges[k, 1]:
                    into[i] = 1
            at += length if length > 0 else machine.step
