"""What libunwindstack cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from testbed.contract.limits import limit_on, limits_of
from testbed.referee.limits import reasons

_SOURCES = "https://android.googlesource.com/platform/system/unwinding/+/refs/heads/main/libunwindstack"
_NARROW = (
    "the addresses in a .debug_frame in the 32-bit DWARF format are read as 4 bytes: in a 64-bit file they have 8, so "
    "no row of such a table is found",
    "https://issuetracker.google.com/issues/192012848",
)
_REALIGNED = (
    "GCC keeps the registers of a realigned frame relative to the frame pointer, and writes no row where its epilogue "
    "has taken that one back: what is read through it then is another word, for the caller too",
    "https://github.com/libunwind/libunwind/issues/43",
)
_REASONS = {
    **reasons(),
    "IN_NO_FILE": (
        "a trampoline on the stack is in no file: the return address is taken from the top of the stack, and the word "
        "that the trampoline has not popped yet is believed to be the caller's",
        "https://gcc.gnu.org/onlinedocs/gccint/Trampolines.html",
    ),
    "SIGNAL": (
        "every frame but the first is looked up before its pc, as is right behind a call: also the one that a signal "
        "interrupted, whose row is then that of the instruction before, or of the function before",
        _SOURCES + "/Unwinder.cpp",
    ),
    "ENTRY_LOST": (
        "without a search table the entries are read in their order, and kept by where they end: one that ends where a "
        "kept one begins is not kept, and once it is read past, its function has no row",
        _SOURCES + "/DwarfSection.cpp",
    ),
    "CANNOT_UNWIND": (
        "EXIDX_CANTUNWIND, which linkers write for code without a table, is taken for the end of the stack",
        _SOURCES + "/ElfInterfaceArm.cpp",
    ),
    "NO_TABLE": (
        "no table covers this code: the link register, or the word at SP, is taken for the return address, and SP is "
        "left where it is: these are the caller's only where no call has changed the one, and nothing moved the other",
        _SOURCES + "/Unwinder.cpp",
    ),
    "SIGNED": (
        "this version takes the signature off no return address: such an address lies in no mapping",
        _SOURCES + "/RegsArm64.cpp",
    ),
    "ON_RETURN": (
        "a frame whose caller has its own pc and SP is taken for one that makes no progress: so a function looks that "
        "stands right behind its caller's call, and was jumped to from there",
        _SOURCES + "/Unwinder.cpp",
    ),
    "CALLED": _NARROW,
    "ROOT": _NARROW,
    "INEXPRESSIBLE": (
        "an expression for a register begins with the CFA on its stack; here it begins with none, and a rule that "
        "counts from it fails: the return address is then taken from the link register or from the top of the stack",
        _SOURCES + "/DwarfSection.cpp",
    ),
    "EPILOGUE": (
        "GCC writes one row for a frame that several instructions give back: between them it is another's",
        reasons()["NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS"][1],
    ),
    "LOST_REGISTER+FP_REUSED<1": (
        "of all registers that a table calls lost (DW_CFA_undefined) the return address alone is taken for that; the "
        "others keep the value that they have, here the frame pointer, from which the caller's CFA is counted",
        _SOURCES + "/DwarfSection.cpp",
    ),
    "WRONG_TABLE<1": (
        "a table is believed, not checked: a wrong rule of the frame pointer is wrong where the caller counts from it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    "REALIGNED+EPILOGUE": _REALIGNED,
    "REALIGNED+EPILOGUE<1": _REALIGNED,
}
LIMITS = limits_of(
    """
    SIGNAL         x86_64  wrong_register skipped ended_early phantom wrong refused
    SIGNAL         arm64   wrong_register skipped ended_early phantom
    SIGNAL         arm32   wrong_register skipped ended_early phantom wrong stopped refused
    SIGNED         arm64   refused stopped
    WRONG_TABLE    x86_64  ended_early wrong phantom skipped
    WRONG_TABLE<1  x86_64  wrong
    WRONG_TABLE    arm64   refused stopped ended_early skipped phantom wrong_register wrong
    WRONG_TABLE    arm32   refused stopped ended_early skipped phantom wrong_register wrong
    NO_TABLE       x86_64  refused stopped wrong_register wrong
    NO_TABLE       arm64   refused stopped wrong_register phantom
    CANNOT_UNWIND  arm32   ended_early
    NO_TABLE       arm32   refused stopped wrong_register skipped wrong
    NO_CODE        x86_64  wrong_register
    IN_NO_FILE     x86_64  ended_early
    OPEN_END       x86_64  phantom
    OPEN_END       arm64   stopped phantom
    OPEN_END       arm32   stopped phantom
    WRONG_INDEX    arm64   refused
    ENTRY_LOST     x86_64  stopped
    ENTRY_LOST     arm64   stopped
    LOST_REGISTER+FP_REUSED<1  x86_64  skipped
    LOST_REGISTER+FP_REUSED<1  arm64   skipped
    LOST_REGISTER+FP_REUSED<1  arm32   skipped
    SYNCHRONOUS    arm64   refused ended_early skipped phantom wrong_register wrong
    INEXPRESSIBLE  x86_64  stopped
    INEXPRESSIBLE  arm64   stopped wrong_register
    INEXPRESSIBLE  arm32   refused stopped
    REALIGNED+EPILOGUE    x86_64  ended_early
    REALIGNED+EPILOGUE<1  x86_64  stopped skipped
    NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS        arm32   refused ended_early skipped wrong_register wrong
    NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE   arm32   ended_early skipped wrong_register
    NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART     arm32   ended_early skipped wrong
    GIVEN_BACK_IN_PART         arm32   refused ended_early wrong_register
    EPILOGUE                   arm32   refused
    PROLOGUE+ALLOCATED_IN_PART  arm32   ended_early
    NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE  arm32   ended_early skipped wrong
    NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER      arm32   ended_early skipped wrong_register
    FP_MOVED_IN_PART           arm32   ended_early wrong_register
    ON_RETURN      arm64   refused
    ON_RETURN      arm32   refused
    CALLED         x86_64  refused
    CALLED         arm64   refused
    ROOT           x86_64  stopped
    ROOT           arm64   stopped
    """,
    _REASONS,
) + limits_of(
    "ROOT arm32 stopped",
    {
        "ROOT": (
            "in a file with an .eh_frame, be it empty, EXIDX_CANTUNWIND of the start code is an error, not the end",
            _SOURCES + "/ElfInterfaceArm.cpp",
        )
    },
)
BEHIND_SIGNAL = limit_on(LIMITS, "SIGNAL", "arm64")
NARROW_ADDRESSES = limit_on(LIMITS, "CALLED", "arm64")
LOST_ENTRY = limit_on(LIMITS, "ENTRY_LOST", "x86_64")
NO_CFA = limit_on(LIMITS, "INEXPRESSIBLE", "x86_64")
