"""Stack scan: a word is a return address where it points into code, right behind a call instruction.

What debuggers and crash reporters fall back to when nothing else is left. It finds the true callers as long as their
return addresses are on the stack, and with them whatever earlier calls left behind in slots that no one has written
since. The caller of a function that keeps its return address in the link register is not there to be found.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Unwinder
from testbed.image import image_covering
from testbed.trace import Snapshot
from unwinders.formats.call_instructions import CallInstruction, call_before
from unwinders.scans.over_traces import scan_over_traces
from unwinders.scans.scan_walk import HEURISTIC, Scan, scan
from unwinders.shared_limits import SCANS

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


def unwind(snapshot: Snapshot) -> Backtrace:
    return scan(snapshot, SCAN)


LIMITS = limits_of(
    """
    SIGNAL            x86_64  refused ended_early skipped phantom wrong
    SIGNAL            arm64   refused skipped phantom wrong
    SIGNAL            arm32   refused skipped phantom wrong
    HANDLER           x86_64  refused ended_early skipped wrong
    HANDLER           arm64   refused skipped wrong
    HANDLER           arm32   refused skipped wrong
    NO_CODE           arm64   skipped
    NO_CODE           arm32   skipped
    RETURN_CHANGED    x86_64  skipped
    HAND_MADE         x86_64  refused stopped ended_early skipped wrong
    HAND_MADE         arm64   refused stopped ended_early wrong
    HAND_MADE         arm32   refused stopped ended_early wrong
    SIGNED+UNKEPT     arm64   ended_early skipped
    NOT_KEPT+UNKEPT   arm32   ended_early
    LINK_LIVE+UNKEPT  arm64   refused ended_early skipped phantom wrong
    LINK_LIVE+UNKEPT  arm32   refused ended_early skipped wrong
    UNKEPT            x86_64  ended_early
    UNKEPT            arm64   ended_early skipped
    UNKEPT            arm32   ended_early skipped
    COPIED            x86_64  phantom
    COPIED            arm64   phantom
    COPIED            arm32   phantom
    LEFTOVER          x86_64  phantom wrong
    LEFTOVER          arm64   phantom
    LEFTOVER          arm32   phantom wrong
    CODE_POINTER      x86_64  phantom
    CODE_POINTER      arm64   phantom
    FAR               x86_64  refused stopped
    FAR               arm64   refused
    FAR               arm32   refused stopped
    LINK_LIVE+UNKEPT<1  arm32   phantom
    UNKEPT            arm64   refused stopped wrong
    UNKEPT            arm32   refused stopped wrong
    COPIED            x86_64  wrong
    COPIED            arm64   wrong
    COPIED            arm32   wrong
    LEFTOVER          arm64   wrong
    CODE_POINTER      x86_64  wrong
    CODE_POINTER      arm64   wrong
    CODE_POINTER      arm32   phantom wrong
    FAR               arm64   stopped
    LINK_LIVE+UNKEPT  arm32   phantom
    """,
    {
        **SCANS,
        "LINK_LIVE+UNKEPT<1": (
            "the function further in keeps its return address in the link register: an equal one that an earlier call "
            "has left further out is taken for it, and the search goes on from there",
            HEURISTIC,
        ),
    },
)

STACK_SCAN = Unwinder(
    name="stack_scan",
    summary="every word from SP upwards that points right behind a call instruction",
    unwind=unwind,
    unwind_trace=scan_over_traces(SCAN),
    limits=LIMITS,
)
