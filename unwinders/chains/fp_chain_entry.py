"""The frame-pointer chain, and one more constant row at a function's first instruction.

At the first instruction the call has just happened and nothing has been pushed, so::

    CFA            = SP + entry_cfa                       (one word on x86_64, zero with a link register)
    return address = *(CFA - word) on x86_64, else the link register

Linux's user-space unwinder does this for x86_64 with symbols (``arch/x86/include/asm/unwind_user.h``). Everywhere
else it is `fp_chain`, with the same limits: the second and third prologue instructions remain.
"""

from __future__ import annotations

from functools import cache

from testbed.arch import Arch
from testbed.contract.assumption import Record
from testbed.contract.rows import Offset, RegisterPlus, Rule, SameValue, UnwindRow
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import LoadedImage
from unwinders.chains.fp_chain import EVERYWHERE, chain_rows
from unwinders.rows.by_rows import by_rows
from unwinders.rows.walk import RowFor


@cache
def entry_row(arch: Arch) -> UnwindRow:
    """The row at a function's first instruction: every callee-saved register still has the caller's value."""
    cfa = RegisterPlus(arch.sp, arch.entry_cfa)
    at_entry: Rule = SameValue() if arch.link else Offset(-arch.word)
    return UnwindRow(*EVERYWHERE, cfa, {arch.return_address: at_entry}, arch.return_address, found_by="entry row")


def entry_rows(arch: Arch) -> RowFor:
    """The entry row where the interrupted pc is a function's first, else the chain's."""
    chain = chain_rows(arch)

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if frame.kind is FrameKind.INTERRUPTED and loaded is not None:
            function = loaded.image.function_at(frame.pc - loaded.bias)
            if function is not None and function.address == frame.pc - loaded.bias:
                return entry_row(arch)
        return chain(frame, loaded)

    return row_for


FP_CHAIN_ENTRY = by_rows(
    entry_rows,
    name="fp_chain_entry",
    summary="frame-pointer chain, with a row of its own at a function's first instruction",
    assumption=Record(entry=True),
)
