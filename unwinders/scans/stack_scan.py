"""Stack scan: a word is a return address where it points into code, right behind a call instruction.

What debuggers and crash reporters fall back to when nothing else is left. It finds the true callers as long as their
return addresses are on the stack, and with them whatever earlier calls left behind in slots that no one has written
since. The caller of a function that keeps its return address in the link register is not there to be found.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.unwinder import Limit, Unwinder
from testbed.image import image_covering
from testbed.trace import Snapshot
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.formats.call_instructions import call_before
from unwinders.scans.scan_walk import GAVE_UP, HEURISTIC, IN_A_REGISTER, LEFT_BY_A_JUMP, Scan, scan
from unwinders.shared_limits import SCANS, shared_limits

WORDS = 4096


def behind_a_call(snapshot: Snapshot, value: int, _: Frame) -> bool:
    """True where a value names executable code right behind a call, in the right instruction set."""
    address = snapshot.arch.code_address(value)
    loaded = image_covering(snapshot.images, address - 1)
    if loaded is None or call_before(loaded.image, address - loaded.bias) is None:
        return False
    # A return address carries the instruction set in its lowest bit: an even one never returns to Thumb code.
    return value & ~snapshot.arch.code_mask == loaded.image.isa_at(address - 1 - loaded.bias).address_bit


SCAN = Scan(first_words=WORDS, words=WORDS, plausible=behind_a_call, claims_sp=False)


def unwind(snapshot: Snapshot) -> Backtrace:
    return scan(snapshot, SCAN)


LIMITS = (
    Limit(
        Trait.LEFTOVER,
        frozenset({Outcome.PHANTOM, Outcome.WRONG}),
        "a slot that no one has written since still holds an earlier call's return address: it looks like any other",
        HEURISTIC,
    ),
    Limit(Trait.TAIL_CALLED, frozenset({Outcome.PHANTOM, Outcome.WRONG}), LEFT_BY_A_JUMP, HEURISTIC),
    Limit(Trait.LINK_LIVE, frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY}), IN_A_REGISTER, HEURISTIC),
    Limit(Trait.CALLED, frozenset({Outcome.REFUSED, Outcome.STOPPED}), GAVE_UP, HEURISTIC),
    *shared_limits(
        SCANS,
        {
            Trait.NOT_KEPT: (Outcome.ENDED_EARLY,),
            Trait.SIGNED: (
                Outcome.ENDED_EARLY,
                Outcome.SKIPPED,
            ),
            Trait.SIGNAL: (
                Outcome.ENDED_EARLY,
                Outcome.SKIPPED,
                Outcome.WRONG,
            ),
            Trait.OTHER_STACK: (Outcome.ENDED_EARLY,),
            Trait.LOST_REGISTER: (
                Outcome.SKIPPED,
                Outcome.PHANTOM,
            ),
            Trait.REALIGNED: (Outcome.PHANTOM,),
            Trait.WRONG_TABLE: (Outcome.SKIPPED,),
        },
    ),
)

STACK_SCAN = Unwinder(
    name="stack_scan",
    summary="every word from SP upwards that points right behind a call instruction",
    unwind=unwind,
    limits=LIMITS,
)
