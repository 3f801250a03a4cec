"""What perf cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from dataclasses import replace

from testbed.referee.libunwind.limits import (
    AFTER_LEAVE,
    STALE_ROW,
    STALE_ROW_OF_ANOTHER,
    STALE_ROW_OF_CALLER,
    VECTOR_RULE,
)
from testbed.referee.limits import GCC_REALIGNED, limit, put_by_handler, table_limits
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_X86 = frozenset({"x86_64"})
_SAMPLE = "https://man7.org/linux/man-pages/man2/perf_event_open.2.html"

CUT = limit(
    Trait.DISTANT,
    "ended_early",
    "a sample holds 8 KiB of the stack from SP up; what lies further up cannot be read, and the list just ends",
    _SAMPLE,
    _X86,
)
POPPED = replace(
    limit(
        Trait.EPILOGUE,
        "ended_early",
        "a sample's stack begins at SP. Behind the instruction that pops the frame pointer, the table still says that "
        "it is in the word that was popped, as every compiler's table does: that word is not there, so the caller, "
        "whose record the frame pointer leads to, is unknown, and the list just ends",
        _SAMPLE,
        _X86,
        Trait.LINKED_FURTHER,
    ),
    inner=1,
)
POPPED_FURTHER_IN = replace(
    POPPED,
    because=f"{POPPED.because}; here for a frame further out, which alone counts from the frame pointer",
    inner=3,
)
_CACHED = (
    "libunwind remembers rows by address for all samples, and does not say whether it was a return address, for which "
    "it took the row in front. One was put at this instruction by hand, the first of a function; so the row in front "
    "of the function, which has a caller, is used when the instruction is interrupted. A return address of zero ends "
    "the stack, but perf has made ffffffffffffffff of it by then, and lists that"
)
_GPARSER = "https://github.com/libunwind/libunwind/blob/v1.6.2/src/dwarf/Gparser.c"
REMEMBERED = limit(Trait.FIRST, "phantom", _CACHED, _GPARSER, _X86, Trait.ROOT, Trait.OTHER_STACK)
REMEMBERED_AGAIN = replace(REMEMBERED, trait=Trait.JUMPED_TO)  # in a loop
UNSAID_VECTOR_RULE = replace(
    VECTOR_RULE, outcomes=frozenset({Outcome.ENDED_EARLY}), because=f"{VECTOR_RULE.because}; the list just ends"
)
WRONG_POINTER = replace(
    limit(
        Trait.WRONG_TABLE,
        "wrong",
        "a table is believed, not checked: a wrong rule of the frame pointer is wrong where the caller counts from it",
        "https://github.com/llvm/llvm-project/issues/63598",
        _X86,
    ),
    inner=1,
)
LIMITS = (
    CUT,
    *table_limits(
        {
            Trait.WRONG_TABLE: frozenset({Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.PHANTOM}),
            Trait.NO_TABLE: frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY, Outcome.WRONG}),
            Trait.NO_CODE: frozenset({Outcome.REFUSED, Outcome.ENDED_EARLY}),
            Trait.OPEN_END: frozenset({Outcome.PHANTOM}),
            Trait.WRONG_INDEX: frozenset({Outcome.SKIPPED}),
        }
    ),
    limit(
        Trait.LOST_REGISTER,
        "ended_early",
        "the frame pointer is already that of the place that a jump goes to: the caller counts from it",
        "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
        _X86,
        Trait.FP_REUSED,
    ),
    put_by_handler(_X86),
    REMEMBERED,
    REMEMBERED_AGAIN,
    STALE_ROW,
    STALE_ROW_OF_ANOTHER,
    STALE_ROW_OF_CALLER,
    UNSAID_VECTOR_RULE,
    replace(AFTER_LEAVE, outcomes=frozenset({Outcome.ENDED_EARLY})),
    POPPED,
    POPPED_FURTHER_IN,
    WRONG_POINTER,
    replace(GCC_REALIGNED, inner=1),
)
