"""Call sites: where a function calls, what, and whether it comes back.

``return_pc`` is the address after an ordinary call; ``pc`` that of the call instruction itself, as tail calls have it.
The older GNU form has one address, the one after the call, for both.

Source: DWARF 5, section 3.4.1; the GNU extension of DWARF 4 (https://www.dwarfstd.org/issues/100909.2.html).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.image.debug.entries import Entry
from testbed.image.debug.words import At, Tag


@dataclass(frozen=True, slots=True)
class Target:
    """The callee that a call site names: by its code's address where the entry has one, else by name.

    ``origins`` are the offsets of the entry and of what it is an instance of. ``declared``: the entry is a declaration
    only, and the function itself is in another unit, found by name.
    """

    name: str
    address: int | None
    origins: tuple[int, ...] = ()
    declared: bool = False


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call. ``target`` None: through a pointer. ``tail``: it jumps, and the callee returns for the caller.

    ``return_pc`` is the address after the instruction, of a tail call too where the producer says it.
    """

    return_pc: int | None
    pc: int | None
    target: Target | None
    tail: bool


def call_site(entry: Entry, target: Callable[[int], Target | None]) -> CallSite:
    """A call site's entry as a value; ``target`` finds the callee from the offset of its entry."""
    code = entry.unit.image.arch.code_address
    gnu = entry.tag == Tag.GNU_CALL_SITE
    origin = entry.reference(At.ABSTRACT_ORIGIN if gnu else At.CALL_ORIGIN)
    tail = entry.flag(At.CALL_TAIL_CALL, At.GNU_TAIL_CALL)
    after = entry.address(At.LOW_PC if gnu else At.CALL_RETURN_PC)
    at = None if gnu else entry.address(At.CALL_PC)
    return CallSite(
        return_pc=None if after is None else code(after),
        pc=None if at is None else code(at),
        target=None if origin is None else target(origin),
        tail=tail,
    )


def completeness(function: Entry) -> bool:
    """Whether the function's entry promises that all its tail calls are listed."""
    return function.flag(
        *(At.CALL_ALL_CALLS, At.CALL_ALL_SOURCE_CALLS, At.CALL_ALL_TAIL_CALLS),
        *(At.GNU_ALL_CALL_SITES, At.GNU_ALL_TAIL_CALL_SITES),
    )
