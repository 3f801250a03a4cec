"""Stack scan: a word is a return address where it points into code, right behind a call instruction.

What debuggers and crash reporters fall back to when nothing else is left. It finds the true callers as long as their
return addresses are on the stack, and with them whatever earlier calls left behind in slots that no one has written
since. The caller of a function that keeps its return address in the link register is not there to be found.
"""

from __future__ import annotations

from testbed.contract.assumption import StackWords
from testbed.contract.unwinder import Frame
from testbed.image import image_covering
from testbed.trace import Snapshot
from unwinders.formats.call_instructions import CallInstruction, call_before
from unwinders.scans.scan_walk import Scan, by_scan

WORDS = 4096


def call_returning_to(snapshot: Snapshot, value: int) -> CallInstruction | None:
    """The call that would return to a value, in the right instruction set; None where there is none."""
    address = snapshot.arch.code_address(value)
    loaded = image_covering(snapshot.images, address - 1)
    if loaded is None:
        return None
    image, link = loaded.image, address - loaded.bias
    # A return address carries the instruction set in its lowest bit: an even one never returns to Thumb code. Of code
    # that no symbol names, as in a stripped library, nothing else says it.
    bit, isa = value & ~snapshot.arch.code_mask, image.isa_at(link - 1)
    if bit != isa.address_bit and image.function_at(link - 1) is None:
        isa = next((each for each in snapshot.arch.isas if each.address_bit == bit), isa)
    return call_before(image, link, isa) if bit == isa.address_bit else None


def behind_a_call(snapshot: Snapshot, value: int, _: Frame) -> bool:
    """True where a value names executable code right behind a call, in the right instruction set."""
    return call_returning_to(snapshot, value) is not None


SCAN = Scan(first_words=WORDS, words=WORDS, plausible=behind_a_call, claims_sp=False)


STACK_SCAN = by_scan(
    SCAN,
    name="stack_scan",
    done_by="crash reporters where no table helps",
    summary="every word from SP upwards that points right behind a call instruction",
    assumption=StackWords("call", first_words=4096, words=4096),
)
