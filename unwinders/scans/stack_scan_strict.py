"""Stack scan that also asks whom the call before the return address calls: it must be the function below.

::

    plausible(value, frame) = behind a call, and the call's target is the start of frame's function,
                              or a register names the target, which nothing can check

That removes most leftovers of earlier calls. It also removes the true caller wherever the function below was reached
by a tail call, since the call names another function: the price of every check by target.
"""

from __future__ import annotations

from testbed.contract.assumption import StackWords
from testbed.contract.unwinder import Frame
from testbed.image import function_covering, image_covering
from testbed.trace import Snapshot
from unwinders.scans.scan_walk import Scan, by_scan
from unwinders.scans.stack_scan import WORDS, behind_a_call, call_returning_to


def calls_the_frame(snapshot: Snapshot, value: int, frame: Frame) -> bool:
    """True behind a call whose target is the function of the frame that would return there."""
    call = call_returning_to(snapshot, value)
    if call is None:
        return False
    loaded = image_covering(snapshot.images, snapshot.arch.code_address(value) - 1)
    assert loaded is not None
    below = function_covering(snapshot.images, frame.lookup_pc)
    return call.target is None or below is None or call.target + loaded.bias == below[1].address + below[0].bias


SCAN = Scan(first_words=WORDS, words=WORDS, plausible=calls_the_frame, claims_sp=False, possible=behind_a_call)


STACK_SCAN_STRICT = by_scan(
    SCAN,
    name="stack_scan_strict",
    summary="stack_scan, and the call before a return address must name the function of the frame below",
    assumption=StackWords("callee", first_words=4096, words=4096),
)
