"""Facts about one frame of a stack, at one executed instruction, that explain why a technique cannot be right there.

A trait is *observed*: it follows from what the emulator executed, never from a table. Or it is *declared*:
the header of a program, or the recipe that built it, says so, of the whole program or of some of its instructions.

Some are facts about the interrupted frame only: nothing is known of a prologue further out, where all are at calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Trait(Enum):
    """One fact about a frame at a site; the value is the sentence that reports show."""

    PROLOGUE = "the interrupted activation has not yet reached its settled (SP, FP)"
    EPILOGUE = "the interrupted activation has already left its settled (SP, FP)"
    FRAMELESS = "the interrupted activation has not changed FP, nor will it before it returns or tail-calls"
    FRAMELESS_CALLER = "an activation further out is at a call with FP unchanged since its entry"
    UNLINKED = "FP does not lead to the record of this activation: it is not linked yet, no longer, or never"
    LINKED = "FP leads to the record of this activation, which has its return address"
    LINKED_FURTHER = "FP leads past this activation to the record of one further out"
    LINKED_FURTHER_ON = "FP leads past this activation to the record of one further out, and that one leads on"
    LAST_RECORD = "FP leads to the record of this activation, and none of its caller's can be reached from there"
    RECORD_REPLACED = (
        "FP leads into the activation's own part of the stack, to the record of a frame further out, by its return "
        "address or its FP, or to the activation's own with another FP: it was written over"
    )
    RECORD_APART = "FP leads to the record of this activation, which does not end where its part of the stack ends"
    FP_AT_RETURN = "FP leads to this activation's return address; the other word of its record lies in front of that"
    FP_REUSED = "the activation's FP is neither its entry value nor an address in its own frame"
    FP_FOR_LOCALS = "FP leads into the activation's own part of the stack, but to no record with its return address"
    FP_BACK = "the interrupted activation has FP as it was at the entry, between instructions at which it is another"
    FP_LEADS = "FP is zero, or leads to two words of mapped memory: who takes them for a record ends, or goes on"
    FP_BELOW = "FP leads to a record below SP: one that its activation's caller, or it itself, made for a call"
    FP_MOVED_ON = "the function moves FP on within its frame, by an instruction in front of this one"
    FP_MOVED_IN_PART = "an instruction in front has moved FP on within its frame, and this or a later one does it again"
    FP_SET_LATE = "the activation has set FP, in a function that sets it behind its first two instructions"
    SETS_FP_LATE = "the activation's function sets FP, in this activation or another, behind its first two instructions"
    MIXED_ISA = "the activation, or its caller, runs another instruction set than the interrupted one"
    ROW_BEGINS = "the instruction in front has changed what a row describes: SP, FP, or the return address's signature"
    CFA_MOVED = "the instruction in front has changed what a CFA is counted from: FP if that led to the record, else SP"
    FP_SET = "the instruction in front has changed FP from what it was at the activation's entry"
    ALLOCATED_IN_PART = "the instruction in front has made room on the stack, stored nothing, and this one makes more"
    GIVEN_BACK_IN_PART = (
        "the instruction in front has given room on the stack back, and nothing else; this one gives more"
    )
    WITHOUT_EFFECT = "the instruction in front changed nothing but the pc: its condition failed, or it does nothing"
    BARE = "the interrupted activation holds nothing on the stack: SP is where it was at its entry"
    HOLDING = "the activation holds something on the stack: SP is not where it was at its entry"
    RETURNED = "a call of the interrupted activation has just come back to this instruction"
    JUMPED_TO = "control came here by a jump inside the activation: not from the instruction in front"
    OTHER_IN_FRONT = "control came here by a jump; the instruction in front has another frame, or none, or never runs"
    FIRST = "the interrupted activation is at its first instruction"
    PAST_ENTRY = "no function's symbol stands at the interrupted instruction: it is past a function's first, or in none"
    ENTERED_FRAMED = "the activation's function was entered with something on the stack already: by a jump, not a call"
    FRAME_ELSEWHERE = "the function has a frame at another instruction, and on this path no frame, or has left it"
    FRAME_IN_PART = "the activation has something on the stack, and its function has more at another instruction"
    UNSAVED = "the interrupted function saves a caller's register at this instruction or one further on"
    SAVES = "the activation's function saves a caller's register, in this activation or another"
    PARTLY_RUN = "some of the interrupted function's code is never executed in this run"
    PASSED_OVER = "some of the interrupted function's code in front of this instruction is never executed in this run"
    NAMELESS = "no symbol covers the code of the activation's caller"
    RETURN_UNSAVED = "the interrupted function stores its return address at this instruction or one further on"
    RETURN_SAVED = "the interrupted instruction lies behind one at which its function stores its return address"
    RETURN_CHANGED = "the interrupted activation has changed its return address: control will go on at another one"
    HAND_MADE = "the activation's return address was there before the jump that opened it: no call put it there"
    SP_SET = (
        "an instruction in front of this one, of the same function, has moved SP to what another register held, or "
        "down by as much"
    )
    MOVED_UP = "the activation has moved SP up, above where it was before the call: into its caller's frame"
    CHANGED = "the activation has changed a callee-saved register other than FP"
    CHANGED_AND_STORED = (
        "the activation has changed a callee-saved register other than FP, in a function that saves one by an "
        "instruction that takes nothing of the stack"
    )
    CHANGED_INSIDE = "the interrupted activation has FP, or another callee-saved register, changed from its entry"
    VECTOR_RESTORED = "the activation has changed a callee-saved floating-point register, and given it its value back"
    BEHIND_LABEL = "a symbol lies between the beginning of the activation's function and its pc"
    BEHIND_START = (
        "the interrupted instruction is a function's first one, right behind the code of the outermost activation"
    )
    FRAMED_AT_LABEL = "no symbol in front reaches over a label in the interrupted function, and a frame is set up there"
    CALLER_FRAMED_AT_LABEL = (
        "the activation is at a call, no symbol in front reaches over a label in its function, and a frame is set up "
        "there"
    )
    LAST_CALL = "the activation's pc, behind its call, lies in another function than the call"
    RETURN_RUNS = "the instruction that the activation's pc names, behind its call, runs somewhere in this run"
    SECOND_ISA = "the activation runs the architecture's second instruction set"
    ROOT = "the activation is the outermost one: it has no caller"
    CALLED = "the activation has a caller"
    CALLED_BY_ROOT = "the activation's caller is the outermost one"
    SAME_RETURN = "the activation and its caller have the same return address: both were called from one place"
    ON_RETURN = "the interrupted activation is at its own return address: it has gone on by a jump, behind the call"
    LINK_LIVE = "the link register holds the interrupted activation's return address"
    LINK_STALE = "the link register holds something else than the interrupted activation's return address"
    LINK_INSIDE = "the link register holds an address of the function that is executing"
    LINK_OUTSIDE = "the link register holds an address of another function than the one that is executing"
    LINK_ELSEWHERE = "the link register holds another address than that at which the interrupted activation stands"
    SIGNED = "the activation's return address is kept with a signature: its upper bits are no part of the address"
    UNKEPT = "the activation's part of the stack does not hold its return address"
    FAR = "at least 40 words of the activation's part of the stack lie before its return address"
    DISTANT = "more than 8 KiB of stack lie between SP and the end of the activation"
    LEFTOVER = "the activation's part of the stack holds, before its return address, that of a call that is over"
    KEPT_ELSEWHERE = "the function keeps its return address on the stack at another instruction, and not here"
    COPIED = "the activation's part of the stack holds a copy of a living activation's return address before its own"
    CODE_POINTER = "the activation's part of the stack holds, before its return address, another address of code"
    DATA_POINTER = (
        "the activation's part of the stack holds, before its return address, an address in a file, not of code"
    )
    APART = "the word behind the activation's return address, on the stack, is not where SP will be"
    UNPUSHED = "the shadow call stack does not have the interrupted activation's return address on top"
    TAIL_CALLED = "the activation executes another function than the one that its caller called"
    TRANSITION = "between the SP write and the jump of a non-local transfer: no single answer is right"
    SIGNAL = "the frame is a signal's: the kernel's call, which no instruction made"
    INTERRUPTED = "a signal interrupted the activation: its pc is no return address"
    HANDLER = "the activation is a signal's handler: it returns to where no call was made"
    NO_CODE = "the pc of this activation, or of its caller, lies in no code: a call through a wild pointer"
    IN_NO_FILE = "the activation executes code that is in no program file: it was written to memory while running"
    FP_OMITTED = "built without frame pointers: the frame-pointer register is an ordinary one"
    WRONG_TABLE = "the activation is at an instruction whose table row the header declares wrong"
    BEHIND_WRONG = "the activation is right behind an instruction whose table row the header declares wrong"
    NO_TABLE = "the activation is in code that no table covers, as the header or the recipe declares"
    OPEN_END = "nothing marks the outermost frame, or something marks it falsely, as the header declares"
    REALIGNED = "a frame whose record is a copy, away from the CFA, as the header declares"
    CANNOT_UNWIND = "a table says of a function in mid-stack that it cannot be unwound, as the header declares"
    INEXPRESSIBLE = "a rule that only an expression can say: compact formats have none, as the header declares"
    VECTOR_RULE = "a row with a rule for a vector register, as the header declares"
    TAKEN_BACK = "the row takes back a register's rule that an earlier row of the function has, as the header declares"
    ENTRY_LOST = "the table's entry of the function ends where one begins that stands before it, as the header declares"
    B_KEY = "some row of the file says that return addresses are signed with the B key, as the header declares"
    COUNTED_FROM_SP = "rows count the CFA from SP where FP leads to a record, as the header declares"
    NO_INDEX = "the file has no search table beside its table, as the header declares"
    WRONG_INDEX = "the search table names another function's entry for some function, as the header declares"
    LOST_REGISTER = "a caller's register is overwritten and kept nowhere: a jump away follows, as the header declares"
    OTHER_STACK = "the stack goes on on another one, as the header declares"
    SYNCHRONOUS = "outside a finished frame, with a table that holds at calls only, as the recipe declares"
    NOT_KEPT = (
        "a function that never returns, and so kept no return address for want of a table, as the recipe declares"
    )
    NO_EPILOGUE_ROWS = "a table with rows for prologues, and none for epilogues, as the recipe declares"
    UNSAID_END = "a compact table that does not say that the start code has no caller, as the recipe declares"
    SHADOW_STACK = "rows say where the shadow call stack is, by an expression for its register, as the recipe declares"
    LEAF_RECORD = "in a leaf whose frame pointer leads to no return address, as the recipe declares"
    NO_RECORD = "the frame pointer is there for locals and leads to no record, as the recipe declares"
    SPLIT_FUNCTION = "a symbol of a function where a jump enters a frame that is set up, as the header declares"

    __hash__ = object.__hash__  # a member is equal to itself alone; the hash of its name is made anew at each look-up

    @property
    def declared(self) -> bool:
        """True where a program's header or a recipe says it, false where the trace shows it."""
        return self in _DECLARED


_DECLARED = frozenset(
    {
        Trait.WRONG_TABLE,
        Trait.BEHIND_WRONG,
        Trait.NO_TABLE,
        Trait.FP_OMITTED,
        Trait.OPEN_END,
        Trait.REALIGNED,
        Trait.CANNOT_UNWIND,
        Trait.INEXPRESSIBLE,
        Trait.VECTOR_RULE,
        Trait.TAKEN_BACK,
        Trait.ENTRY_LOST,
        Trait.B_KEY,
        Trait.COUNTED_FROM_SP,
        Trait.NO_INDEX,
        Trait.WRONG_INDEX,
        Trait.LOST_REGISTER,
        Trait.OTHER_STACK,
        Trait.SPLIT_FUNCTION,
        Trait.SYNCHRONOUS,
        Trait.NOT_KEPT,
        Trait.UNSAID_END,
        Trait.NO_EPILOGUE_ROWS,
        Trait.LEAF_RECORD,
        Trait.SHADOW_STACK,
        Trait.NO_RECORD,
    }
)

# What only a search of the stack's words can say.
OF_WORDS = frozenset(
    {Trait.UNKEPT, Trait.FAR, Trait.LEFTOVER, Trait.COPIED, Trait.CODE_POINTER, Trait.DATA_POINTER, Trait.APART}
)

# What is declared of a whole program, and holds for a frame of which the trace shows one of these too.
NARROWED: Mapping[Trait, frozenset[Trait]] = MappingProxyType(
    {
        # A link register that is live has not been used by a call: that may be before a frame is finished.
        Trait.SYNCHRONOUS: frozenset({Trait.PROLOGUE, Trait.EPILOGUE, Trait.LINK_LIVE}),
        Trait.NOT_KEPT: frozenset({Trait.LINK_STALE}),
        Trait.LEAF_RECORD: frozenset({Trait.LINK_LIVE}),
        Trait.OPEN_END: frozenset({Trait.ROOT, Trait.CALLED_BY_ROOT}),
        Trait.UNSAID_END: frozenset({Trait.ROOT, Trait.CALLED_BY_ROOT}),
    }
)


def holding(declared: frozenset[Trait], observed: frozenset[Trait]) -> frozenset[Trait]:
    """The declared traits that hold for a frame of which these are observed."""
    return frozenset(t for t in declared if t not in NARROWED or not NARROWED[t].isdisjoint(observed))
