"""What nongnu libunwind cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.limits import GCC_REALIGNED, lost_pointer, table_limits
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

STALE_ROW = Limit(
    Trait.RETURNED,
    frozenset({Outcome.SKIPPED}),
    "rows are remembered by pc alone: behind a call whose callee pops its arguments, the row for the return address "
    "(of the call) is used again for the instruction there, which has another",
    "https://github.com/libunwind/libunwind/pull/1059",
    also=frozenset({Trait.ROW_BEGINS}),
)
STALE_ROW_OF_ANOTHER = Limit(
    Trait.LAST_CALL,
    frozenset({Outcome.ENDED_EARLY}),
    "rows are remembered by pc alone: where a call is the last thing in its function, the return address is the first "
    "instruction of the next one, whose row, looked up before, is used again",
    "https://github.com/libunwind/libunwind/pull/1059",
    also=frozenset({Trait.RETURN_RUNS}),
)
LOST = lost_pointer(
    Outcome.ENDED_EARLY,
    because="the table says that the frame pointer cannot be had any more, and the caller's CFA counts from it: the "
    "stack ends there as if that frame were the outermost one",
    reference="https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
)
STALE_ROW_OF_CALLER = Limit(
    Trait.ON_RETURN,
    frozenset({Outcome.SKIPPED}),
    "rows are remembered by pc alone: a function that stands right behind its caller's call begins at the return "
    "address, whose row, looked up for the caller, is used again",
    "https://github.com/libunwind/libunwind/pull/1059",
)
LIMITS = (
    *table_limits(
        {
            Trait.WRONG_TABLE: frozenset(
                {
                    *(Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.WRONG_REGISTER, Outcome.PHANTOM, Outcome.SKIPPED),
                    Outcome.REFUSED,  # a row that counts from a register which holds a number
                }
            ),
            Trait.NO_TABLE: frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY}),
            Trait.NO_CODE: frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY}),
            Trait.OPEN_END: frozenset({Outcome.PHANTOM}),
            Trait.WRONG_INDEX: frozenset({Outcome.SKIPPED}),
        }
    ),
    LOST,
    GCC_REALIGNED,
)

VECTOR_RULE = Limit(
    Trait.VECTOR_RULE,
    frozenset({Outcome.REFUSED, Outcome.STOPPED}),
    "a row with a rule for a vector register is refused as a whole: of x86_64's columns the first 17 are known; the "
    "others, which saving those registers needs, are bad registers",
    "https://github.com/libunwind/libunwind/blob/v1.6.2/src/dwarf/Gparser.c",
)
AFTER_LEAVE = Limit(
    Trait.REALIGNED,
    frozenset({Outcome.WRONG_REGISTER, Outcome.ENDED_EARLY}),
    "GCC keeps the registers of a realigned frame relative to the frame pointer, and writes no row where its epilogue "
    "has taken that one back: what is read through it then is believed, and if nothing can be read the stack ends",
    "https://github.com/libunwind/libunwind/issues/43",
    also=frozenset({Trait.EPILOGUE, Trait.UNLINKED}),
)

SP_AT_RECORD = Limit(
    Trait.NO_TABLE,
    frozenset({Outcome.WRONG_REGISTER}),
    "where no table covers a function the frame pointer is followed, and the caller's SP is said to be the address of "
    "the frame record: it is above it",
    "https://github.com/libunwind/libunwind/pull/996",
)
