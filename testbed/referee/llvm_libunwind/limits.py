"""What LLVM's libunwind cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from dataclasses import replace

from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Limit
from testbed.referee.limits import GCC_REALIGNED, put_by_handler, signed, table_limits
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

LIMITS = table_limits(
    {
        Trait.WRONG_TABLE: frozenset(
            {
                *(Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.WRONG_REGISTER, Outcome.PHANTOM, Outcome.SKIPPED),
                Outcome.REFUSED,  # a row that calls an address signed before it is
            }
        ),
        Trait.NO_TABLE: frozenset({Outcome.ENDED_EARLY, Outcome.WRONG}),
        Trait.NO_CODE: frozenset({Outcome.ENDED_EARLY}),
        Trait.OPEN_END: frozenset({Outcome.PHANTOM}),
        Trait.SYNCHRONOUS: frozenset(
            {
                Outcome.REFUSED,
                Outcome.ENDED_EARLY,
                Outcome.SKIPPED,
                Outcome.PHANTOM,
                Outcome.WRONG_REGISTER,
            }
        ),
    },
    {
        Trait.NO_TABLE: "unw_step returns 0, as at the end of the stack, where no table covers the function",
        Trait.NO_CODE: "unw_step returns 0, as at the end of the stack, where no table covers the pc",
    },
)
BAD_REGISTER = Limit(
    Trait.VECTOR_RULE,
    frozenset({Outcome.REFUSED, Outcome.STOPPED}),
    "a row with a rule for a vector register is refused: on x86_64 Registers_x86_64 has none",
    "https://github.com/llvm/llvm-project/blob/main/libunwind/src/Registers.hpp",
    frozenset({"x86_64"}),
)
SET_TO_ZERO = Limit(
    Trait.LOST_REGISTER,
    frozenset({Outcome.WRONG_REGISTER}),
    "a register whose rule is DW_CFA_undefined is set to zero, and given out as known: here one that the frame has "
    "overwritten",
    "https://github.com/llvm/llvm-project/blob/main/libunwind/src/DwarfInstructions.hpp",
    also=frozenset({Trait.LINKED_FURTHER, Trait.BARE}),
)
AFTER_LEAVE = replace(
    GCC_REALIGNED,
    outcomes=frozenset({Outcome.REFUSED}),
    because=f"{GCC_REALIGNED.because}, zero here, where nothing can be read",
)
POINTER_SET_TO_ZERO = replace(SET_TO_ZERO, also=frozenset({Trait.FP_REUSED}))
LIMITS = (*LIMITS, BAD_REGISTER, GCC_REALIGNED, SET_TO_ZERO, POINTER_SET_TO_ZERO, put_by_handler(), AFTER_LEAVE)
_LIES = frozenset(
    {Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.PHANTOM, Outcome.WRONG_REGISTER, Outcome.WRONG, Outcome.REFUSED}
)
EXACT_PC = "https://github.com/llvm/llvm-project/pull/92291"
_COMPACT = "https://github.com/llvm/llvm-project/blob/main/libunwind/src/CompactUnwinder.hpp"
_ROW_BEFORE = (
    "parseFDEInstructions applies the rows that begin before the pc (codeOffset < pcoffset), as is right behind a "
    "call: where a row begins at the interrupted instruction, the one before it is used"
)
ROW_BEFORE_TOP = Limit(Trait.CFA_MOVED, _LIES, _ROW_BEFORE, EXACT_PC)
ROW_BEFORE_SP = Limit(
    Trait.ROW_BEGINS,
    frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED}),
    f"{_ROW_BEFORE}; here rows count from SP all through, as Go's do, though FP leads to a record",
    EXACT_PC,
    frozenset({"x86_64"}),
    frozenset({Trait.COUNTED_FROM_SP}),
)
ROW_BEFORE_WRONG = Limit(
    Trait.BEHIND_WRONG,
    frozenset({Outcome.ENDED_EARLY, Outcome.WRONG_REGISTER, Outcome.WRONG}),
    f"{_ROW_BEFORE}; and that one is wrong",
    EXACT_PC,
)
NO_ROW_FOR_THE_CALLER = Limit(
    Trait.NO_TABLE,
    frozenset({Outcome.ENDED_EARLY}),
    "unw_step returns 0, as at the end of the stack, where no table covers the caller: it is not listed",
    "https://github.com/openssl/openssl/issues/8853",
    inner=-1,
)
ROW_BEFORE_LANDED = Limit(
    Trait.OTHER_IN_FRONT,
    frozenset({Outcome.ENDED_EARLY, Outcome.PHANTOM, Outcome.WRONG_REGISTER}),
    f"{_ROW_BEFORE}; here it is that of code in front of a jump's target, which is on another path, and has no frame",
    EXACT_PC,
    also=frozenset({Trait.HOLDING}),
)
ROW_BEFORE_EXPRESSION = Limit(
    Trait.INEXPRESSIBLE,
    frozenset({Outcome.WRONG_REGISTER}),
    f"{_ROW_BEFORE}; the row that begins says where a register is that the instruction in front has changed",
    EXACT_PC,
    also=frozenset({Trait.CHANGED}),
)
ROW_BEFORE_REALIGNED_SAVES = Limit(
    Trait.REALIGNED,
    frozenset({Outcome.WRONG_REGISTER}),
    ROW_BEFORE_EXPRESSION.because,
    EXACT_PC,
    frozenset({"x86_64"}),
    frozenset({Trait.CHANGED, Trait.PROLOGUE, Trait.LINKED, Trait.FAR}),
)
_SET = f"{_ROW_BEFORE}; the row that begins says where the caller's FP is, which the instruction in front has changed"
ROW_BEFORE_SET = Limit(Trait.FP_SET, _LIES, _SET, EXACT_PC, frozenset({"arm64"}))
ROW_BEFORE_REALIGNED = Limit(
    Trait.FP_SET,
    frozenset({Outcome.PHANTOM, Outcome.WRONG, Outcome.WRONG_REGISTER}),
    _SET,
    EXACT_PC,
    frozenset({"x86_64"}),
    frozenset({Trait.REALIGNED}),
)
ROW_BEFORE_LOST = Limit(
    Trait.FP_SET,
    frozenset({Outcome.SKIPPED}),
    f"{_ROW_BEFORE}; the row that begins says that FP is lost, which the instruction in front has overwritten",
    EXACT_PC,
    frozenset({"x86_64"}),
    frozenset({Trait.LOST_REGISTER, Trait.FP_REUSED}),
)
ROW_BEFORE_ENTERED = Limit(
    Trait.ENTERED_FRAMED,
    frozenset({Outcome.SKIPPED}),
    f"{_ROW_BEFORE}; here that of the code in front of an entry that a jump leads to, in one entry for all of it",
    EXACT_PC,
    frozenset({"x86_64"}),
    frozenset({Trait.FIRST}),
)
ROW_BEFORE_STARTED = Limit(
    Trait.FIRST,
    frozenset({Outcome.PHANTOM}),
    f"{_ROW_BEFORE}; here that of the function in front of a stack's first one, which has a caller",
    EXACT_PC,
    frozenset({"arm64"}),
    frozenset({Trait.OTHER_STACK, Trait.ROOT}),
)
ROWS_BEFORE = (
    *(ROW_BEFORE_TOP, ROW_BEFORE_SP, ROW_BEFORE_WRONG, ROW_BEFORE_LANDED, ROW_BEFORE_EXPRESSION),
    ROW_BEFORE_REALIGNED_SAVES,
    *(ROW_BEFORE_SET, ROW_BEFORE_REALIGNED, ROW_BEFORE_LOST, ROW_BEFORE_ENTERED, ROW_BEFORE_STARTED),
)
ROW_BEFORE_COMPACT = Limit(
    Trait.FP_SET,
    frozenset({Outcome.PHANTOM, Outcome.WRONG_REGISTER}),
    f"an encoding that defers to DWARF: {_SET}",
    EXACT_PC,
    frozenset({"arm64"}),
)
ROW_BEFORE_COMPACT_TOP = Limit(
    Trait.CFA_MOVED,
    frozenset({Outcome.WRONG_REGISTER}),
    f"an encoding that defers to DWARF: {_ROW_BEFORE}",
    EXACT_PC,
    frozenset({"arm64"}),
    frozenset({Trait.PROLOGUE, Trait.UNLINKED}),
)
ROW_BEFORE_SIGNAL = Limit(
    Trait.INTERRUPTED,
    frozenset({Outcome.SKIPPED, Outcome.WRONG_REGISTER, Outcome.ENDED_EARLY}),
    "behind a signal frame the interrupted function is looked up by its pc, but its row still as behind a call: the "
    "row that begins at the pc is not applied",
    EXACT_PC,
    also=frozenset({Trait.CFA_MOVED}),
)
ONE_WORD_HIGH = Limit(
    Trait.FRAMELESS,
    frozenset({Outcome.WRONG_REGISTER}),
    "stepWithCompactEncodingFrameless looks for the first saved register at SP + stack size, which is the CFA: it lies "
    "one word below, as in frames with a frame pointer, and all others are one word off with it",
    _COMPACT,
    frozenset({"arm64"}),
    frozenset({Trait.HOLDING, Trait.SAVES}),
)
_FINISHED = "the one encoding of a function describes its finished frame, which is"
_ONE_ROW = "https://faultlore.com/blah/compact-unwinding/"
ONE_ROW = limits_of(
    """
    PROLOGUE+FP_LEADS+UNLINKED   x86_64  ended_early skipped
    PROLOGUE+UNLINKED            x86_64  refused
    PROLOGUE+LINKED_FURTHER      arm64   skipped wrong_register
    PROLOGUE+UNLINKED            arm64   refused
    PROLOGUE+LINKED+UNSAVED      x86_64  wrong_register
    EPILOGUE+CFA_MOVED+UNLINKED  x86_64  ended_early refused skipped
    EPILOGUE+LINKED_FURTHER      arm64   ended_early skipped wrong_register
    EPILOGUE+RETURN_SAVED        arm64   ended_early
    EPILOGUE+UNLINKED            arm64   refused
    """,
    {
        "PROLOGUE+FP_LEADS+UNLINKED": (f"{_FINISHED} not there yet: what FP leads to is taken for it", _ONE_ROW),
        "PROLOGUE+UNLINKED": (f"{_FINISHED} not there yet", _ONE_ROW),
        "PROLOGUE+LINKED+UNSAVED": (f"{_FINISHED} not there yet: registers are read from empty places", _ONE_ROW),
        "EPILOGUE+CFA_MOVED+UNLINKED": (f"{_FINISHED} partly gone", _ONE_ROW),
        "EPILOGUE+UNLINKED": (f"{_FINISHED} partly gone", _ONE_ROW),
        "EPILOGUE+RETURN_SAVED": (f"{_FINISHED} gone: what lies where it was is read", _ONE_ROW),
        "PROLOGUE+LINKED_FURTHER": (f"{_FINISHED} not there yet: what FP leads to is taken for it", _ONE_ROW),
        "EPILOGUE+LINKED_FURTHER": (f"{_FINISHED} gone: what FP leads to is taken for it", _ONE_ROW),
    },
)
SIGNED = signed(
    "built for another machine, it takes no signature off: it refuses a row that says that there is one",
    *(Outcome.REFUSED, Outcome.STOPPED, Outcome.WRONG, Outcome.WRONG_REGISTER),
)
