"""What nongnu libunwind cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.limits import table_limits
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

STALE_ROW = Limit(
    Trait.EPILOGUE,
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
)
LIMITS = table_limits(
    {
        Trait.WRONG_TABLE: frozenset(
            {Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.WRONG_REGISTER, Outcome.PHANTOM, Outcome.SKIPPED}
        ),
        Trait.NO_TABLE: frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY}),
        Trait.NO_CODE: frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY}),
        Trait.OPEN_END: frozenset({Outcome.PHANTOM}),
        Trait.WRONG_INDEX: frozenset({Outcome.SKIPPED}),
        Trait.LOST_REGISTER: frozenset({Outcome.ENDED_EARLY}),
    }
)

KNOWN_BY_BYTES = Limit(
    Trait.SIGNAL,
    frozenset({Outcome.WRONG_REGISTER}),
    "unw_is_signal_frame knows a trampoline by the bytes of mov $15, %rax; syscall, and not by its table: of any other "
    "one it says that the interrupted function is behind a call",
    "https://github.com/libunwind/libunwind/blob/master/src/x86_64/Gis_signal_frame.c",
)

SP_AT_RECORD = Limit(
    Trait.NO_TABLE,
    frozenset({Outcome.WRONG_REGISTER}),
    "where no table covers a function the frame pointer is followed, and the caller's SP is said to be the address of "
    "the frame record: it is above it",
    "https://github.com/libunwind/libunwind/pull/996",
)
