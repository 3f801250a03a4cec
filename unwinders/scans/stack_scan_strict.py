"""Stack scan that also asks whom the call before the return address calls: it must be the function below.

::

    plausible(value, frame) = behind a call, and the call's target is the start of frame's function,
                              or a register names the target, which nothing can check

That removes most leftovers of earlier calls. It also removes the true caller wherever the function below was reached
by a tail call, since the call names another function: the price of every check by target.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Unwinder
from testbed.image import image_covering
from testbed.trace import Snapshot
from unwinders.formats.call_instructions import function_at
from unwinders.scans.over_traces import scan_over_traces
from unwinders.scans.scan_walk import HEURISTIC, Scan, scan
from unwinders.scans.stack_scan import WORDS, behind_a_call, call_returning_to
from unwinders.shared_limits import SCANS


def calls_the_frame(snapshot: Snapshot, value: int, frame: Frame) -> bool:
    """True behind a call whose target is the function of the frame that would return there."""
    call = call_returning_to(snapshot, value)
    if call is None:
        return False
    loaded = image_covering(snapshot.images, snapshot.arch.code_address(value) - 1)
    assert loaded is not None
    below = function_at(snapshot, frame.lookup_pc)
    return call.target is None or below is None or call.target + loaded.bias == below[1].address + below[0].bias


SCAN = Scan(first_words=WORDS, words=WORDS, plausible=calls_the_frame, claims_sp=False, possible=behind_a_call)


def unwind(snapshot: Snapshot) -> Backtrace:
    return scan(snapshot, SCAN)


LIMITS = limits_of(
    """
    SIGNAL              x86_64  refused ended_early skipped wrong
    SIGNAL              arm64   refused ended_early skipped wrong
    SIGNAL              arm32   refused ended_early skipped wrong
    TAIL_CALLED         x86_64  ended_early skipped phantom wrong
    TAIL_CALLED         arm64   ended_early skipped phantom wrong
    TAIL_CALLED         arm32   ended_early skipped phantom wrong
    ENTERED_FRAMED      x86_64  ended_early
    HANDLER             x86_64  refused ended_early skipped wrong
    HANDLER             arm64   refused ended_early skipped wrong
    HANDLER             arm32   refused ended_early skipped wrong
    NO_CODE             arm64   skipped
    NO_CODE             arm32   skipped
    RETURN_CHANGED      x86_64  ended_early
    HAND_MADE           x86_64  refused stopped ended_early wrong
    HAND_MADE           arm64   refused stopped ended_early wrong
    HAND_MADE           arm32   refused stopped ended_early
    SIGNED+UNKEPT       arm64   ended_early
    NOT_KEPT+UNKEPT     arm32   ended_early
    LINK_LIVE+UNKEPT    arm64   refused ended_early skipped wrong
    LINK_LIVE+UNKEPT    arm32   refused ended_early skipped wrong
    UNKEPT              x86_64  ended_early
    UNKEPT              arm64   ended_early
    UNKEPT              arm32   ended_early
    COPIED              x86_64  phantom wrong
    COPIED              arm64   phantom wrong
    COPIED              arm32   phantom wrong
    LEFTOVER            x86_64  refused stopped phantom wrong
    LEFTOVER            arm64   phantom wrong
    LEFTOVER            arm32   refused stopped phantom wrong
    CODE_POINTER        arm64   ended_early
    CODE_POINTER        arm32   ended_early
    FAR                 x86_64  refused stopped
    FAR                 arm64   refused
    FAR                 arm32   refused stopped
    LINK_LIVE+UNKEPT<1  arm64   ended_early skipped wrong
    LINK_LIVE+UNKEPT<1  arm32   skipped wrong
    LINK_LIVE+UNKEPT<2  arm64   ended_early wrong
    COPIED              x86_64  skipped
    COPIED              arm64   skipped
    COPIED              arm32   ended_early skipped
    CODE_POINTER        x86_64  phantom wrong
    UNKEPT              arm64   refused stopped skipped wrong
    UNKEPT              arm32   refused stopped skipped wrong
    TAIL_CALLED         x86_64  refused stopped
    TAIL_CALLED         arm64   refused stopped
    TAIL_CALLED         arm32   refused stopped
    CODE_POINTER        arm64   phantom wrong
    CODE_POINTER        arm32   phantom wrong
    FAR                 arm64   stopped
    LINK_LIVE+UNKEPT    arm64   phantom
    LINK_LIVE+UNKEPT    arm32   phantom
    LINK_LIVE+UNKEPT<1  arm32   ended_early
    """,
    {
        "SIGNAL": SCANS["SIGNAL"],
        "TAIL_CALLED": (
            "the function below was reached by a tail call, so the caller's call names another function",
            HEURISTIC,
        ),
        "ENTERED_FRAMED": (
            "a stub jumps into the middle of another one, with words on the stack: the call before the return address "
            "names neither",
            HEURISTIC,
        ),
        "LINK_LIVE+UNKEPT<1": (
            "the function further in keeps its return address in the link register: an equal one that an earlier call "
            "has left further out is taken for it, and the search goes on from there",
            HEURISTIC,
        ),
        "LINK_LIVE+UNKEPT<2": (
            "the function two frames further in keeps its return address in the link register: an equal one that an "
            "earlier call has left further out is taken for it, that call's caller is the same, and its own is another",
            HEURISTIC,
        ),
        **SCANS,
    },
)

STACK_SCAN_STRICT = Unwinder(
    name="stack_scan_strict",
    summary="stack_scan, and the call before a return address must name the function of the frame below",
    unwind=unwind,
    unwind_trace=scan_over_traces(SCAN),
    limits=LIMITS,
)
