"""The frame-pointer chain, and one more constant row at a function's first instruction.

At the first instruction the call has just happened and nothing has been pushed, so::

    CFA            = SP + entry_cfa                       (one word on x86_64, zero with a link register)
    return address = *(CFA - word) on x86_64, else the link register

Linux's user-space unwinder does this for x86_64 with symbols (``arch/x86/include/asm/unwind_user.h``). Everywhere
else it is `fp_chain`, with the same limits: the second and third prologue instructions remain.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from testbed.arch import Arch
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.limits import limits_of
from testbed.contract.rows import AtCfa, RegisterPlus, Rule, SameValue, UnwindRow
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from unwinders.chains.fp_chain import EVERYWHERE, FP_CHAIN, chain_rows
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowFor, walk
from unwinders.shared_limits import LEADING, RECORDS


@cache
def entry_row(arch: Arch) -> UnwindRow:
    """The row at a function's first instruction: every callee-saved register still has the caller's value."""
    cfa = RegisterPlus(arch.sp, arch.entry_cfa)
    at_entry: Rule = SameValue() if arch.link else AtCfa(-arch.word)
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


def unwind(snapshot: Snapshot) -> Backtrace:
    return walk(snapshot, entry_rows(snapshot.arch))


LIMITS = limits_of(
    """
    ENTERED_FRAMED                          x86_64  ended_early skipped phantom wrong
    ENTERED_FRAMED                          arm64   ended_early skipped phantom wrong_register wrong
    ENTERED_FRAMED                          arm32   skipped phantom wrong
    FIRST+ROOT                              x86_64  phantom
    FIRST+ROOT                              arm64   phantom
    FIRST+ROOT                              arm32   phantom
    JUMPED_TO+ROOT                          x86_64  phantom
    JUMPED_TO+ROOT                          arm64   phantom
    JUMPED_TO+ROOT                          arm32   phantom
    SIGNAL+MIXED_ISA                        arm32   stopped ended_early
    HANDLER+MIXED_ISA<1                     arm32   stopped
    SIGNAL                                  x86_64  refused stopped ended_early skipped wrong
    SIGNAL                                  arm64   skipped phantom wrong_register wrong
    SIGNAL                                  arm32   refused stopped skipped wrong
    RECORD_REPLACED                         x86_64  skipped wrong
    RECORD_REPLACED                         arm64   skipped wrong
    NO_CODE                                 x86_64  skipped
    NO_CODE                                 arm64   skipped
    NO_CODE                                 arm32   ended_early skipped
    SIGNED+LINKED                           arm64   wrong
    LEAF_RECORD+UNLINKED                    arm64   ended_early skipped
    LEAF_RECORD+UNLINKED                    arm32   refused ended_early skipped wrong
    NO_RECORD+UNLINKED                      arm32   refused stopped ended_early skipped wrong
    LOST_REGISTER+FP_REUSED                 x86_64  skipped
    LOST_REGISTER+FP_REUSED                 arm64   skipped
    LOST_REGISTER+FP_REUSED                 arm32   skipped
    MIXED_ISA+UNLINKED                      arm32   ended_early skipped
    MIXED_ISA                               arm32   stopped
    FP_BELOW                                x86_64  phantom wrong_register
    FP_REUSED+MOVED_UP                      x86_64  wrong_register
    FP_REUSED+FP_LEADS                      x86_64  ended_early skipped wrong_register wrong
    FP_REUSED                               x86_64  refused stopped
    FP_REUSED                               arm64   refused stopped ended_early skipped
    FP_REUSED                               arm32   refused stopped ended_early skipped wrong
    FP_BACK+FP_LEADS+UNLINKED               x86_64  ended_early skipped wrong
    FP_BACK+UNLINKED                        x86_64  refused
    FRAMELESS+PAST_ENTRY+FP_LEADS+UNLINKED  x86_64  ended_early skipped wrong
    FRAMELESS+PAST_ENTRY+UNLINKED           x86_64  refused
    FRAMELESS+PAST_ENTRY+UNLINKED           arm64   refused ended_early skipped wrong
    FRAMELESS+PAST_ENTRY+UNLINKED           arm32   refused ended_early skipped wrong
    PROLOGUE+PAST_ENTRY+FP_LEADS+UNLINKED   x86_64  ended_early skipped wrong
    PROLOGUE+PAST_ENTRY+UNLINKED            x86_64  refused
    PROLOGUE+PAST_ENTRY+UNLINKED            arm64   refused ended_early skipped wrong_register wrong
    PROLOGUE+PAST_ENTRY+UNLINKED            arm32   refused ended_early skipped wrong_register wrong
    EPILOGUE+FP_LEADS+UNLINKED              x86_64  ended_early skipped wrong
    EPILOGUE+UNLINKED                       x86_64  refused
    EPILOGUE+UNLINKED                       arm64   refused ended_early skipped wrong_register wrong
    EPILOGUE+UNLINKED                       arm32   refused ended_early skipped wrong
    FRAMELESS_CALLER+FP_LEADS+UNLINKED      x86_64  ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED               x86_64  stopped
    FRAMELESS_CALLER+UNLINKED               arm64   stopped ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED               arm32   stopped ended_early skipped wrong
    UNLINKED+PAST_ENTRY                     arm32   refused ended_early wrong
    FP_FOR_LOCALS                           x86_64  ended_early wrong
    FP_FOR_LOCALS                           arm64   refused ended_early
    FP_FOR_LOCALS                           arm32   stopped ended_early skipped wrong
    REALIGNED+FP_SET_LATE+LINKED            x86_64  ended_early skipped wrong_register
    OPEN_END                                x86_64  stopped phantom
    OPEN_END                                arm64   refused stopped phantom
    OPEN_END                                arm32   refused stopped phantom
    LAST_RECORD                             arm64   refused stopped
    LAST_RECORD                             arm32   refused stopped
    FP_REUSED                               arm64   wrong
    FRAMELESS+TAIL_CALLED+CHANGED           arm32   phantom wrong_register
    SAME_RETURN+UNLINKED                    arm32   wrong_register
    """,
    {
        "ENTERED_FRAMED": (
            "a symbol stands where a jump enters: nothing was called there, and the frame is set up already",
            "https://github.com/llvm/llvm-project/issues/125299",
        ),
        "FIRST+ROOT": (
            "the first function of a stack was called by nobody: what the link register or the stack's top holds there "
            "is believed all the same",
            "https://github.com/tarantool/tarantool/issues/6889",
        ),
        "JUMPED_TO+ROOT": (
            "start code that is jumped to, as a dynamic linker jumps to a program's, was called by nobody: what the "
            "link register or the stack's top holds there is believed all the same",
            "https://sourceware.org/git/?p=glibc.git;a=blob;f=sysdeps/x86_64/dl-machine.h;hb=refs/tags/glibc-2.36",
        ),
        "FRAMELESS+TAIL_CALLED+CHANGED": (
            "a tail call came to this function, which makes no frame, with a register of the caller's changed: the row "
            "says that it is as it was",
            "https://sourceware.org/git/?p=glibc.git;a=blob;f=sysdeps/unix/sysv/linux/arm/swapcontext.S;hb=refs/tags/glibc-2.36",
        ),
        "HANDLER+MIXED_ISA<1": (
            "a signal's trampoline runs another instruction set than its handler, which has called code of the "
            "trampoline's: at that code's first instruction all registers are known, the handler's record keeps one",
            "https://github.com/ARM-software/abi-aa/issues/24",
        ),
        **{
            key.replace("+", "+PAST_ENTRY+", 1): reason
            for key, reason in {**RECORDS, **LEADING}.items()
            if key.startswith(("PROLOGUE+", "FRAMELESS+"))
        },
        "UNLINKED+PAST_ENTRY": RECORDS["UNLINKED"],
        **RECORDS,
        **LEADING,
    },
)

FP_CHAIN_ENTRY = replace(
    FP_CHAIN,
    name="fp_chain_entry",
    summary="frame-pointer chain, with a row of its own at a function's first instruction",
    unwind=unwind,
    unwind_trace=over_traces(unwind, entry_rows),
    limits=LIMITS,
)
