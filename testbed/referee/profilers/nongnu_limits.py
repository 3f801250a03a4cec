"""What nongnu libunwind cannot know where it is executed on ARM: which facts show as which outcomes, and why."""

from __future__ import annotations

from testbed.contract.limits import limit_on, limits_of
from testbed.referee.limits import reasons

_SOURCES = "https://github.com/libunwind/libunwind/blob/v1.6.2"
_THEN_LINK = "the row is refused, and what the link register holds is taken for the return address"
_REASONS = {
    **reasons(),
    "NO_TABLE": (
        "no table covers this code: what the link register holds is taken for the return address, and SP stays",
        _SOURCES + "/src/aarch64/Gstep.c",
    ),
    "SIGNED": (
        f"DW_CFA_AARCH64_negate_ra_state is an instruction that this version does not know: {_THEN_LINK}, as it is",
        _SOURCES + "/src/dwarf/Gparser.c",
    ),
    "LOST_REGISTER+FP_REUSED<1": (
        f"the table says that the frame pointer cannot be had any more, and this row counts from it: {_THEN_LINK}",
        _SOURCES + "/src/dwarf/Gparser.c",
    ),
    "SHADOW_STACK": (
        "in a local unwinder a register whose value an expression computes has none for the frames further out; the "
        f"next row's expression asks for it and fails: {_THEN_LINK}",
        _SOURCES + "/include/libunwind_i.h",
    ),
    "SIGNAL": (
        "a trampoline is known by the bytes at its first instruction: at its second one, the frame that the signal "
        "interrupted is taken for one behind a call",
        _SOURCES + "/src/aarch64/Gis_signal_frame.c",
    ),
    "ON_RETURN<1": (
        "rows are remembered by pc alone: a function that stands right behind its caller's call begins at the return "
        "address, and its first row is used again for the caller, which so is its own caller",
        "https://github.com/libunwind/libunwind/pull/1059",
    ),
    "NO_CODE": (
        "where a null pointer leads there is no table; the instruction there is read to see whether it is a "
        "trampoline's, and that read may be the end of the process",
        "https://github.com/libunwind/libunwind/issues/106",
    ),
}
NONGNU_LIMITS = limits_of(
    """
    WRONG_TABLE    arm64  ended_early skipped phantom wrong_register wrong
    SIGNED         arm64  ended_early wrong
    NO_TABLE       arm64  ended_early skipped phantom wrong_register wrong
    SYNCHRONOUS    arm64  ended_early skipped phantom wrong_register wrong crashed
    OPEN_END       arm64  phantom
    NO_CODE        arm64  skipped crashed
    LOST_REGISTER+FP_REUSED<1  arm64  wrong
    WRONG_INDEX    arm64  ended_early wrong_register wrong
    ON_RETURN<1    arm64  ended_early
    SIGNAL         arm64  wrong_register
    SHADOW_STACK   arm64  ended_early skipped wrong
    """,
    _REASONS,
)
_AT_CALLS = (
    "EHABI has one row for a whole function, true at its calls; a signal comes anywhere; what is popped then was not "
    "pushed, or lies elsewhere: it is believed, or reading it is the end of the process",
    "https://github.com/gperftools/gperftools/issues/784",
)
_NOT_AT_A_CALL = (
    *("RETURN_UNSAVED", "PROLOGUE+UNLINKED", "EPILOGUE+ROW_BEGINS", "EPILOGUE+LINKED_FURTHER"),
    *("FRAME_ELSEWHERE", "FRAMELESS+BARE+PARTLY_RUN", "FRAMELESS+FRAME_IN_PART"),
    *("FP_REUSED+FRAME_IN_PART", "FP_MOVED_ON"),
)
_EXIDX_REASONS = {
    **_REASONS,
    **dict.fromkeys(_NOT_AT_A_CALL, _AT_CALLS),
    **dict.fromkeys(
        ("LOST_REGISTER+FP_REUSED", "LOST_REGISTER+FP_REUSED<1"),
        (
            "EHABI cannot say that a register is lost: the frame pointer, from which a CFA is counted, is that of the "
            "place to which a jump goes",
            "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#introduction-and-scope",
        ),
    ),
    "CANNOT_UNWIND": (
        "an entry says of a function in mid-stack that it cannot be unwound: the stack ends there, or the frame "
        "pointer is followed",
        "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#index-table-entries",
    ),
    "IN_NO_FILE": (
        "code that was written to memory while running, such as a trampoline on the stack, has no table in a file: the "
        "stack ends there",
        "https://gcc.gnu.org/onlinedocs/gccint/Trampolines.html",
    ),
    "LAST_CALL": (
        "a return address is looked up as it is, behind the call: where the call is the last thing in its function, "
        "that is the next function, whose entry answers",
        _SOURCES + "/src/arm/Gex_tables.c",
    ),
    "NO_TABLE": (
        "no table covers this code, but the index answers for any address behind an entry's: with that function's row",
        "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#index-table-entries",
    ),
}
NONGNU_EXIDX_LIMITS = limits_of(
    """
    WRONG_TABLE    arm32  ended_early skipped wrong
    NO_TABLE       arm32  ended_early skipped wrong crashed
    OPEN_END       arm32  phantom wrong crashed
    NO_CODE        arm32  refused ended_early skipped
    IN_NO_FILE     arm32  ended_early
    LOST_REGISTER+FP_REUSED    arm32  skipped
    LOST_REGISTER+FP_REUSED<1  arm32  skipped
    SIGNAL         arm32  skipped wrong_register
    CANNOT_UNWIND  arm32  ended_early skipped crashed
    RETURN_UNSAVED         arm32  ended_early skipped wrong_register wrong crashed
    PROLOGUE+UNLINKED      arm32  ended_early skipped wrong_register wrong crashed
    EPILOGUE+ROW_BEGINS    arm32  ended_early skipped wrong_register wrong crashed
    EPILOGUE+LINKED_FURTHER    arm32  skipped
    FRAME_ELSEWHERE        arm32  ended_early skipped wrong_register wrong crashed
    FRAMELESS+BARE+PARTLY_RUN  arm32  ended_early skipped wrong_register wrong crashed
    FRAMELESS+FRAME_IN_PART    arm32  ended_early skipped wrong
    FP_REUSED+FRAME_IN_PART    arm32  ended_early
    FP_MOVED_ON    arm32  ended_early wrong_register wrong
    LAST_CALL      arm32  ended_early wrong
    """,
    _EXIDX_REASONS,
)
SIGNED = limit_on(NONGNU_LIMITS, "SIGNED", "arm64")
SHADOW_STACK = limit_on(NONGNU_LIMITS, "SHADOW_STACK", "arm64")
BEHIND_THE_CALL = limit_on(NONGNU_EXIDX_LIMITS, "LAST_CALL", "arm32")
NO_CODE = limit_on(NONGNU_LIMITS, "NO_CODE", "arm64")
