"""Stack scan as Breakpad's processor does it: a word is a return address where a known function covers it.

160 words are tried for the caller of the interrupted frame and 40 for each later one
(``Stackwalker::kRASearchWords``), and the caller's SP is taken to be the word after the return address. No instruction
is looked at: a function pointer that happens to lie on the stack passes. Its processor takes signatures off what its
tables and its frame pointers give it (``StackwalkerARM64::PtrauthStrip``), not off the words of a scan.
"""

from __future__ import annotations

from testbed.contract.assumption import StackWords
from testbed.contract.unwinder import Frame
from testbed.image import function_covering
from testbed.trace import Snapshot
from unwinders.scans.scan_walk import Scan, by_scan


def in_a_function(snapshot: Snapshot, value: int, _: Frame) -> bool:
    """True where a symbol of a mapped image covers a value; Breakpad looks up the byte before it."""
    return function_covering(snapshot.images, snapshot.arch.code_address(value) - 1) is not None


SCAN = Scan(first_words=160, words=40, plausible=in_a_function, claims_sp=True)


STACK_SCAN_BREAKPAD = by_scan(
    SCAN,
    name="stack_scan_breakpad",
    summary="every word from SP upwards that a function covers, in Breakpad's bounds",
    assumption=StackWords("function", first_words=160, words=40, sp=True),
)
