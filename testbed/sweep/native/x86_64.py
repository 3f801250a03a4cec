"""An instruction of x86_64: its length, flow, target and operations."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import NEXT, STOP
from testbed.sweep.native.x86_effects import effects
from testbed.sweep.native.x86_fields import BASE, DISPLACEMENT, FAR, INDEX, MAP, MOD, OPCODE, RM, take_apart


@compiled()
def decode_x86_64(code: Any, at: Any, end: Any, pc: Any, fields: Any, operations: Any) -> Any:
    """Length 0 where no instruction is at a place."""
    length = take_apart(code, at, end, fields)
    if length == 0:
        return 0, 0, 0, 0
    flow, target, count = effects(fields, pc, operations)
    if flow == NEXT and is_nowhere(fields):
        return length, STOP, 0, 0
    return length, flow, target, count


@compiled(inline=True)
def is_nowhere(fields: Any) -> Any:
    """Whether memory is read or written at a number below a page: there is none, and so programs end on purpose."""
    is_number = fields[MOD] == 0 and fields[RM] & 7 == 4 and fields[BASE] < 0 and fields[INDEX] < 0
    is_address = (fields[MAP] == 0 and fields[OPCODE] == 0x8D) or (fields[MAP] == 1 and 0x18 <= fields[OPCODE] < 0x20)
    return is_number and 0 <= fields[DISPLACEMENT] < 4096 and not fields[FAR] and not is_address
