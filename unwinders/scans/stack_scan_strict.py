"""Stack scan that also asks whom the call before the return address calls: it must be the function below.

::

    plausible(value, frame) = behind a call, and the call's target is the start of frame's function,
                              or a register names the target, which nothing can check

That removes most leftovers of earlier calls. It also removes the true caller wherever the function below was reached
by a tail call, since the call names another function: the price of every check by target.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.unwinder import Limit, Unwinder
from testbed.image import image_covering
from testbed.trace import Snapshot
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.formats.call_instructions import call_before, function_at
from unwinders.scans.scan_walk import GAVE_UP, HEURISTIC, IN_A_REGISTER, Scan, scan
from unwinders.scans.stack_scan import WORDS, behind_a_call
from unwinders.shared_limits import SCANS, shared_limits


def calls_the_frame(snapshot: Snapshot, value: int, frame: Frame) -> bool:
    """True behind a call whose target is the function of the frame that would return there."""
    if not behind_a_call(snapshot, value, frame):
        return False
    address = snapshot.arch.code_address(value)
    loaded = image_covering(snapshot.images, address - 1)
    assert loaded is not None
    call = call_before(loaded.image, address - loaded.bias)
    assert call is not None
    below = function_at(snapshot, frame.lookup_pc)
    return call.target is None or below is None or call.target + loaded.bias == below[1].address + below[0].bias


SCAN = Scan(first_words=WORDS, words=WORDS, plausible=calls_the_frame, claims_sp=False)


def unwind(snapshot: Snapshot) -> Backtrace:
    return scan(snapshot, SCAN)


LIMITS = (
    Limit(
        Trait.LEFTOVER,
        frozenset({Outcome.PHANTOM, Outcome.WRONG}),
        "an earlier call of the same function has left its return address in a slot that no one has written since",
        HEURISTIC,
    ),
    Limit(Trait.LINK_LIVE, frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY}), IN_A_REGISTER, HEURISTIC),
    Limit(Trait.FRAMELESS, frozenset({Outcome.ENDED_EARLY}), IN_A_REGISTER, HEURISTIC),
    Limit(
        Trait.TAIL_CALLED,
        frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.PHANTOM, Outcome.WRONG}),
        "the function below was reached by a tail call, so the caller's call names another function; and what left by "
        "the tail call has left its return address behind",
        HEURISTIC,
    ),
    Limit(Trait.CALLED, frozenset({Outcome.REFUSED, Outcome.STOPPED}), GAVE_UP, HEURISTIC),
    *shared_limits(
        SCANS,
        {
            Trait.SIGNED: (Outcome.ENDED_EARLY,),
            Trait.SIGNAL: (
                Outcome.ENDED_EARLY,
                Outcome.SKIPPED,
                Outcome.WRONG,
            ),
            Trait.OTHER_STACK: (Outcome.ENDED_EARLY,),
        },
    ),
)

STACK_SCAN_STRICT = Unwinder(
    name="stack_scan_strict",
    summary="stack_scan, and the call before a return address must name the function of the frame below",
    unwind=unwind,
    limits=LIMITS,
)
