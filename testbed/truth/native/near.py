"""Numbers that rules of several rooms share, and where a caller goes on: a kernel sees native modules only."""

from __future__ import annotations

from typing import Any

from numpy import uint64 as u64

from testbed.native.compiled import compiled

# A return is "behind" its call up to so many bytes, where nothing but the distance speaks for it.
NEAR = 256


@compiled(inline=True)
def is_at(pc: Any, returns: Any, goes_on: Any) -> Any:
    """Whether a pc is a right answer to where a function goes on that was called with a return address; or columns.

    The return address that the call handed over is, and so is the address at which control will go on (0: that is the
    return address): a callee makes the one into the other at some instruction, and who reads it from where it stands
    says one before that and the other after it. If it counts on over data behind the call, all it comes by are right.
    """
    near = (returns < pc) & (pc < goes_on) & (goes_on <= returns + u64(NEAR))
    return (pc == returns) | ((goes_on != u64(0)) & ((pc == goes_on) | near))
