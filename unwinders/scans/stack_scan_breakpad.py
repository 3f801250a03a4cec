"""Stack scan as Breakpad's processor does it: a word is a return address where a known function covers it.

160 words are tried for the caller of the interrupted frame and 40 for each later one
(``Stackwalker::kRASearchWords``), and the caller's SP is taken to be the word after the return address. No instruction
is looked at: a function pointer that happens to lie on the stack passes. Its processor takes signatures off what its
tables and its frame pointers give it (``StackwalkerARM64::PtrauthStrip``), not off the words of a scan.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from unwinders.formats.call_instructions import function_at
from unwinders.scans.over_traces import scan_over_traces
from unwinders.scans.scan_walk import HEURISTIC, Scan, scan
from unwinders.shared_limits import SCANS


def in_a_function(snapshot: Snapshot, value: int, _: Frame) -> bool:
    """True where a symbol of a mapped image covers a value; Breakpad looks up the byte before it."""
    return function_at(snapshot, snapshot.arch.code_address(value) - 1) is not None


SCAN = Scan(first_words=160, words=40, plausible=in_a_function, claims_sp=True)


def unwind(snapshot: Snapshot) -> Backtrace:
    return scan(snapshot, SCAN)


LIMITS = limits_of(
    """
    SIGNAL            x86_64  skipped wrong_register
    SIGNAL            arm64   stopped wrong_register wrong
    SIGNAL            arm32   stopped wrong_register wrong
    HANDLER           x86_64  skipped wrong
    HANDLER           arm64   stopped skipped wrong
    HANDLER           arm32   stopped skipped wrong
    NAMELESS          x86_64  skipped
    NAMELESS          arm64   skipped
    NAMELESS          arm32   skipped
    NO_CODE           arm64   skipped
    NO_CODE           arm32   skipped
    RETURN_CHANGED    arm64   skipped
    RETURN_CHANGED    arm32   skipped
    MOVED_UP          x86_64  wrong_register
    MOVED_UP          arm64   wrong_register
    MOVED_UP          arm32   wrong_register
    SIGNED+UNKEPT     arm64   refused skipped
    NOT_KEPT+UNKEPT   arm32   refused
    LINK_LIVE+UNKEPT  arm64   refused skipped wrong_register wrong
    LINK_LIVE+UNKEPT  arm32   refused skipped phantom wrong_register wrong
    UNKEPT            x86_64  refused stopped
    UNKEPT            arm64   refused stopped wrong
    UNKEPT            arm32   refused stopped wrong
    COPIED            x86_64  skipped phantom wrong
    COPIED            arm64   phantom wrong
    COPIED            arm32   skipped phantom wrong
    LEFTOVER          x86_64  refused stopped phantom wrong
    LEFTOVER          arm64   phantom wrong
    LEFTOVER          arm32   refused stopped phantom wrong
    CODE_POINTER      x86_64  phantom wrong
    CODE_POINTER      arm64   phantom wrong
    CODE_POINTER      arm32   phantom
    OTHER_STACK       x86_64  stopped
    OTHER_STACK       arm64   stopped phantom wrong_register
    OTHER_STACK       arm32   stopped
    NO_TABLE          x86_64  stopped
    NO_TABLE          arm64   stopped wrong_register
    NO_TABLE          arm32   stopped
    WRONG_TABLE       x86_64  phantom
    WRONG_TABLE       arm64   wrong_register
    APART             x86_64  phantom wrong_register wrong
    APART             arm64   refused skipped phantom wrong_register wrong
    APART             arm32   phantom wrong_register wrong
    ROOT              x86_64  stopped
    ROOT              arm64   stopped
    ROOT              arm32   stopped
    FAR               x86_64  refused stopped
    FAR               arm64   refused stopped
    FAR               arm32   refused stopped
    LINK_LIVE+UNKEPT  arm64   phantom
    CODE_POINTER      arm32   wrong
    UNKEPT            arm64   skipped
    UNKEPT            arm32   skipped
    """,
    {
        "SIGNAL": SCANS["SIGNAL"],
        "HANDLER": (
            "a handler returns to the first byte of the trampoline: the byte before it, which is looked up, is in no "
            "function, or in another one",
            HEURISTIC,
        ),
        "NAMELESS": ("code without a symbol is not believed to be code", HEURISTIC),
        "APART": (
            "the word after the return address is taken for the caller's SP; only a call that pushes puts it there",
            HEURISTIC,
        ),
        **SCANS,
    },
)

STACK_SCAN_BREAKPAD = Unwinder(
    name="stack_scan_breakpad",
    summary="every word from SP upwards that a function covers, in Breakpad's bounds",
    unwind=unwind,
    unwind_trace=scan_over_traces(SCAN),
    limits=LIMITS,
)
