"""Facts about a site (one executed instruction) that explain why a technique cannot be right there.

A trait is *observed*: it follows from what the emulator executed, never from a table. Or it is *declared*:
the header of a program, or the recipe that built it, says so, of the whole program or of some of its instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Trait(Enum):
    """One fact about a site; the value is the sentence that reports show."""

    PROLOGUE = "the innermost activation has not yet reached its settled (SP, FP)"
    EPILOGUE = "the innermost activation has already left its settled (SP, FP)"
    FRAMELESS = "the innermost activation has not changed FP, nor will it before it returns or tail-calls"
    FRAMELESS_CALLER = "an activation further out is at a call with FP unchanged since its entry"
    FP_REUSED = "some activation's FP is neither its entry value nor an address in its own frame"
    MIXED_ISA = "the stack mixes instruction sets whose frame records chain through different registers"
    ROOT = "the innermost activation is the outermost one: it has no caller"
    CALLED = "the innermost activation has a caller"
    LINK_LIVE = "the link register holds the innermost activation's return address"
    LINK_STALE = "the link register holds something else than the innermost activation's return address"
    SIGNED = "some activation's return address is kept with a signature: its upper bits are no part of the address"
    LEFTOVER = "the stack still holds the return address of a call that is over, at or above SP"
    CODE_POINTER = "the stack holds a code address that is no return address, at or above SP"
    TAIL_CALLED = "some activation executes another function than the one that its caller called"
    TRANSITION = "between the SP write and the jump of a non-local transfer: no single answer is right"
    SIGNAL = "a signal frame lies on the stack: the kernel's call, which no instruction made"
    NO_CODE = "some activation's pc lies in no code: a call through a wild pointer"
    FP_OMITTED = "built without frame pointers: the frame-pointer register is an ordinary one"
    WRONG_TABLE = "some activation is at an instruction whose table row the header declares wrong"
    NO_TABLE = "some activation is in code that no table covers, as the header declares"
    OPEN_END = "nothing marks the outermost frame, or something marks it falsely, as the header declares"
    REALIGNED = "a frame whose record is a copy, away from the CFA, as the header declares"
    CANNOT_UNWIND = "a table says of a function in mid-stack that it cannot be unwound, as the header declares"
    INEXPRESSIBLE = "a rule that only an expression can say: compact formats have none, as the header declares"
    WRONG_INDEX = "the search table names another function's entry for some function, as the header declares"
    LOST_REGISTER = "a caller's register is overwritten and kept nowhere: a jump away follows, as the header declares"
    OTHER_STACK = "the stack goes on on another one, as the header declares"
    SYNCHRONOUS = "outside a finished frame, with a table that holds at calls only, as the recipe declares"
    NOT_KEPT = (
        "a function that never returns, and so kept no return address for want of a table, as the recipe declares"
    )
    UNSAID_END = "a compact table that does not say that the start code has no caller, as the recipe declares"
    LEAF_RECORD = "in a leaf whose frame pointer leads to no return address, as the recipe declares"
    NO_RECORD = "the frame pointer is there for locals and leads to no record, as the recipe declares"
    SPLIT_FUNCTION = "a symbol of a function where a jump enters a frame that is set up, as the header declares"

    @property
    def declared(self) -> bool:
        """True where a program's header or a recipe says it, false where the trace shows it."""
        return self in _DECLARED


_DECLARED = frozenset(
    {
        Trait.FP_OMITTED,
        Trait.OPEN_END,
        Trait.REALIGNED,
        Trait.CANNOT_UNWIND,
        Trait.INEXPRESSIBLE,
        Trait.WRONG_INDEX,
        Trait.LOST_REGISTER,
        Trait.OTHER_STACK,
        Trait.SPLIT_FUNCTION,
        Trait.SYNCHRONOUS,
        Trait.NOT_KEPT,
        Trait.UNSAID_END,
        Trait.LEAF_RECORD,
        Trait.NO_RECORD,
    }
)

# What is declared of a whole program, and holds where the trace shows one of these too.
NARROWED: Mapping[Trait, frozenset[Trait]] = MappingProxyType(
    {
        # A link register that is live has not been used by a call: that may be before a frame is finished.
        Trait.SYNCHRONOUS: frozenset({Trait.PROLOGUE, Trait.EPILOGUE, Trait.LINK_LIVE}),
        Trait.NOT_KEPT: frozenset({Trait.LINK_STALE}),
        Trait.LEAF_RECORD: frozenset({Trait.LINK_LIVE}),
    }
)


def holding(declared: frozenset[Trait], observed: frozenset[Trait]) -> frozenset[Trait]:
    """The declared traits that hold at a site where these are observed."""
    return frozenset(t for t in declared if t not in NARROWED or not NARROWED[t].isdisjoint(observed))
