"""Words for people: short facts about a site, which reports show beside it. None of them decides anything.

A word is *observed*: it follows from what the emulator executed, never from a table. Or it is *declared*: the header of
a program says it of the whole program.
"""

from __future__ import annotations

from enum import Enum


class Trait(Enum):
    """One fact about a frame at a site; the value is the sentence that reports show."""

    PROLOGUE = "the interrupted activation has not yet reached its settled (SP, FP)"
    EPILOGUE = "the interrupted activation has already left its settled (SP, FP)"
    FRAMELESS = "the interrupted activation has not changed FP, nor will it before it returns or tail-calls"
    FIRST = "the interrupted activation is at its first instruction"
    LINKED = "FP leads to the record of this activation, which has its return address"
    UNLINKED = "FP does not lead to the record of this activation: it is not linked yet, no longer, or never"
    FP_REUSED = "the activation's FP is neither its entry value nor an address in its own frame"
    MOVED_UP = "the activation has moved SP up, above where it was before the call: into its caller's frame"
    MIXED_ISA = "the activation, or its caller, runs another instruction set than the interrupted one"
    SECOND_ISA = "the activation runs the architecture's second instruction set"
    ROOT = "the activation is the outermost one: it has no caller"
    LINK_LIVE = "the link register holds the interrupted activation's return address"
    LINK_STALE = "the link register holds something else than the interrupted activation's return address"
    RETURN_CHANGED = "the interrupted activation has changed its return address: control will go on at another one"
    SIGNED = "the activation's return address is kept with a signature: its upper bits are no part of the address"
    UNKEPT = "the activation's part of the stack does not hold its return address"
    LEFTOVER = "the activation's part of the stack holds, before its return address, that of a call that is over"
    COPIED = "the activation's part of the stack holds a copy of a living activation's return address before its own"
    HAND_MADE = "the activation's return address was there before the jump that opened it: no call put it there"
    TAIL_CALLED = "the activation executes another function than the one that its caller called"
    LAST_CALL = "the activation's pc, behind its call, lies in another function than the call"
    NAMELESS = "no symbol covers the code of the activation's caller"
    TRANSITION = "between the SP write and the jump of a non-local transfer: no single answer is right"
    SIGNAL = "the frame is a signal's: the kernel's call, which no instruction made"
    INTERRUPTED = "a signal interrupted the activation: its pc is no return address"
    HANDLER = "the activation is a signal's handler: it returns to where no call was made"
    NO_CODE = "the pc of this activation, or of its caller, lies in no code: a call through a wild pointer"
    IN_NO_FILE = "the activation executes code that is in no program file: it was written to memory while running"

    FP_OMITTED = "built without frame pointers: the frame-pointer register is an ordinary one"
    OPEN_END = "nothing marks the outermost frame, or something marks it falsely, as the header declares"
    OTHER_STACK = "the stack goes on on another one, as the header declares"
    LOST_REGISTER = "a caller's register is overwritten and kept nowhere: a jump away follows, as the header declares"
    REALIGNED = "a frame whose record is a copy, away from the CFA, as the header declares"
    INEXPRESSIBLE = "a rule that only an expression can say: compact formats have none, as the header declares"
    CANNOT_UNWIND = "a table says of a function in mid-stack that it cannot be unwound, as the header declares"
    SPLIT_FUNCTION = "a symbol of a function where a jump enters a frame that is set up, as the header declares"

    __hash__ = object.__hash__  # a member is equal to itself alone; the hash of its name is made anew at each look-up

    @property
    def declared(self) -> bool:
        """True where a program's header says it, false where the trace shows it."""
        return self in _DECLARED


_DECLARED = frozenset(
    {
        *(Trait.FP_OMITTED, Trait.OPEN_END, Trait.OTHER_STACK, Trait.LOST_REGISTER),
        *(Trait.REALIGNED, Trait.INEXPRESSIBLE, Trait.CANNOT_UNWIND, Trait.SPLIT_FUNCTION),
    }
)
