"""Stack scan as Breakpad's processor does it: a word is a return address where a known function covers it.

160 words are tried for the caller of the interrupted frame and 40 for each later one
(``Stackwalker::kRASearchWords``), and the caller's SP is taken to be the word after the return address. No instruction
is looked at: a function pointer that happens to lie on the stack passes. Its processor takes signatures off what its
tables and its frame pointers give it (``StackwalkerARM64::PtrauthStrip``), not off the words of a scan.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.unwinder import Limit, Unwinder
from testbed.trace import Snapshot
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.formats.call_instructions import function_at
from unwinders.scans.scan_walk import GAVE_UP, HEURISTIC, IN_A_REGISTER, LEFT_BY_A_JUMP, Scan, scan
from unwinders.shared_limits import SCANS, shared_limits


def in_a_function(snapshot: Snapshot, value: int, _: Frame) -> bool:
    """True where a symbol of a mapped image covers a value; Breakpad looks up the byte before it."""
    return function_at(snapshot, snapshot.arch.code_address(value) - 1) is not None


SCAN = Scan(first_words=160, words=40, plausible=in_a_function, claims_sp=True)


def unwind(snapshot: Snapshot) -> Backtrace:
    return scan(snapshot, SCAN)


LIMITS = (
    Limit(
        Trait.LEFTOVER,
        frozenset({Outcome.PHANTOM, Outcome.WRONG}),
        "a slot that no one has written since still holds an earlier call's return address: it looks like any other",
        HEURISTIC,
    ),
    Limit(
        Trait.CODE_POINTER,
        frozenset({Outcome.PHANTOM, Outcome.WRONG}),
        "a function pointer on the stack passes for a return address: no instruction is looked at",
        HEURISTIC,
    ),
    Limit(Trait.TAIL_CALLED, frozenset({Outcome.PHANTOM, Outcome.WRONG}), LEFT_BY_A_JUMP, HEURISTIC),
    Limit(Trait.LINK_LIVE, frozenset({Outcome.SKIPPED}), IN_A_REGISTER, HEURISTIC),
    Limit(
        Trait.CALLED,
        frozenset({Outcome.WRONG_REGISTER}),
        "the word after the return address is taken for the caller's SP; only a call that pushes puts it there",
        HEURISTIC,
    ),
    Limit(Trait.CALLED, frozenset({Outcome.REFUSED, Outcome.STOPPED}), GAVE_UP, HEURISTIC),
    Limit(Trait.ROOT, frozenset({Outcome.STOPPED}), GAVE_UP, HEURISTIC),
    *shared_limits(
        SCANS,
        {
            Trait.SIGNED: (Outcome.SKIPPED,),
            Trait.SIGNAL: (
                Outcome.SKIPPED,
                Outcome.WRONG,
            ),
            Trait.LOST_REGISTER: (Outcome.PHANTOM,),
            Trait.REALIGNED: (Outcome.PHANTOM,),
            Trait.NO_TABLE: (Outcome.SKIPPED,),
        },
    ),
)

STACK_SCAN_BREAKPAD = Unwinder(
    name="stack_scan_breakpad",
    summary="every word from SP upwards that a function covers, in Breakpad's bounds",
    unwind=unwind,
    limits=LIMITS,
)
