"""Words for people: short facts about a site, which reports show beside it. None of them decides anything.

A word is *observed*: it follows from what the emulator executed, never from a table. Or it is *declared*: the header of
a program says it of the whole program.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

# The traps: mistakes that real unwinders and real tables made, numbered. A program's header says which it shows.

TRAPS: Mapping[int, str] = MappingProxyType(
    {
        1: "the frame-pointer chain skips the caller of a function that has linked no record (yet, or any more)",
        2: "the link register is believed after the function's own call has overwritten it",
        3: "the call is a function's last instruction: its return address belongs to the next function",
        4: "an interrupted pc looked up one byte too low: the first instruction is taken for the previous function",
        5: "rows that hold at call sites only, used in prologues and epilogues",
        6: "the row does not follow the pops of an epilogue",
        7: "a row left where an optimiser has moved the instruction away, or one instruction late",
        8: "rows after an epilogue in mid-function, without remember and restore of the state",
        9: "hand-written code without a table, or with a wrong one",
        10: "stubs of the procedure linkage table: the CFA depends on the low bits of pc",
        11: "a signed return address, not stripped, or a sign state that changes one instruction too early",
        12: "a realigned stack: the CFA is in memory, or its distance from SP is known at run time only",
        13: "no uniform frame chain on 32-bit Arm: r11 here, r7 there, two layouts of a record",
        14: "one row per function: the exception-handling tables of 32-bit Arm, and functions that cannot be unwound",
        15: "signal frames: nested, on an alternate stack, recognised by the bytes of their trampoline",
        16: "a call through a null pointer: pc lies in no code at all",
        17: "the link register is lost when one frame is stepped by frame pointer and the next by its entry row",
        18: "a return address invented for a function without a table: SP has moved, there is no frame record",
        19: "the distance from the frame pointer to the CFA is not fixed",
        20: "scanning the stack: stale return addresses and code pointers among the locals",
        21: "tail calls, and jumps that look like returns: the caller vanishes",
        22: "hot and cold parts: a function's second part begins with a row that is not an entry's",
        23: "stack probes: SP moves in a loop of the prologue",
        24: "a run-time system's own exceptions: the stack is cut by the last instruction",
        25: "a run-time system's own stacks: the frame pointer is cleared on the way",
        26: "a coroutine's first frame has no caller: without a mark the walk runs into garbage",
        27: "DWARF expressions: the CFA is on the stack before a register's begins",
        28: "arguments pushed around a call, and callees that pop them",
        29: "a search table that is wrong, entries that overlap",
        30: "prologues made by a helper: it saves registers in its caller's frame",
        31: "functions that a compact format cannot express: a hole, silently",
        32: "code of the kernel's without a table and without a frame pointer",
        33: "the end of the stack: no mark, a false one, frames behind it",
        34: "the red zone: rules that point below SP are legal while the bytes are there",
        35: "branch-target marks and return trampolines: prologues look different, calls do not return",
        36: "split stacks and landing pads: SP is not what the row of the code before says",
        37: "a callee that takes data from behind the call: control does not go on at the return address",
        38: "a call made of two instructions: no call stands in front of the return address",
        39: "a return address moved up the stack, and SP with it: the caller's SP is below its callee's, and no loop",
    }
)


class Trait(Enum):
    """One fact about a frame at a site; the value is the sentence that reports show."""

    PROLOGUE = "the interrupted activation has not yet reached its settled (SP, FP)"
    EPILOGUE = "the interrupted activation has already left its settled (SP, FP)"
    FRAMELESS = "the interrupted activation has no frame pointer: FP never points into its frame"
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
