"""An instruction of x86_64: its length, flow, target and operations."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.x86_effects import effects
from testbed.sweep.native.x86_fields import take_apart


@compiled()
def decode_x86_64(code: Any, at: Any, end: Any, pc: Any, fields: Any, operations: Any) -> Any:
    """Length 0 where no instruction is at a place."""
    length = take_apart(code, at, end, fields)
    if length == 0:
        return 0, 0, 0, 0
    flow, target, count = effects(fields, pc, operations)
    return length, flow, target, count
