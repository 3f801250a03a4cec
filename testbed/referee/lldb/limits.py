"""What LLDB cannot know with tables: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from dataclasses import replace

from testbed.referee.limits import GCC_REALIGNED, limit, llvm_arm
from testbed.words.traits import Trait

PLANS = "https://github.com/llvm/llvm-project/pull/111409"
EMULATION = "https://github.com/llvm/llvm-project/pull/168398"
_PROFILE = "https://github.com/llvm/llvm-project/pull/110965"
_CFI = "https://github.com/llvm/llvm-project/blob/main/lldb/source/Symbol/DWARFCallFrameInfo.cpp"
ENDS = "https://github.com/kstenerud/KSCrash/issues/764"
JUMP = "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html"
NULL = "https://github.com/libunwind/libunwind/issues/106"
_X86, _ARM32, _ARMS = ("x86_64",), ("arm32",), ("arm64", "arm32")


SIGNAL = (
    "a signal's trampoline is looked up before its first instruction, as after a call, and so is what a signal "
    "interrupted: the function before it is taken"
)
OTHER_STACK = "a caller's frame that lies further in than its callee's, on another stack, ends the backtrace"

WITH_TABLES = (
    limit(
        Trait.WRONG_TABLE,
        "ended_early phantom skipped wrong wrong_register",
        "a table is believed, not checked: where its row is wrong, so are the CFA and what is read from it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    limit(
        Trait.NO_TABLE,
        "ended_early phantom skipped wrong wrong_register",
        "code that nobody wrote a table for: LLDB follows instructions from the symbol next before pc, or a chain of "
        "frame pointers",
        PLANS,
    ),
    replace(
        limit(
            Trait.NO_TABLE,
            "ended_early",
            "a caller in code without a table, of which no CFA comes out, is not listed",
            PLANS,
            _ARM32,
        ),
        inner=-1,
    ),
    limit(
        Trait.SYNCHRONOUS,
        "ended_early skipped wrong_register",
        "a table that was made for exceptions is right at calls only: at other instructions its row may be another's",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    limit(
        Trait.NO_CODE,
        "ended_early skipped wrong",
        "a pc of zero has no function: LLDB takes it for a call through a null pointer, or ends there",
        NULL,
    ),
    limit(
        Trait.OPEN_END,
        "phantom",
        "nothing says that the start code has no caller: what lies there is taken for a return address",
        ENDS,
    ),
    limit(
        Trait.LOST_REGISTER,
        "ended_early",
        "where the table says that the frame pointer cannot be had any more, for it is the target's of a jump already, "
        "LLDB ends without a word",
        JUMP,
        None,
        Trait.FP_REUSED,
    ),
    limit(
        Trait.SIGNAL,
        "ended_early phantom skipped wrong wrong_register",
        SIGNAL,
        "https://github.com/libunwind/libunwind/issues/924",
    ),
    limit(
        Trait.HANDLER,
        "ended_early phantom skipped wrong",
        SIGNAL,
        "https://github.com/libunwind/libunwind/issues/924",
    ),
    limit(
        Trait.INTERRUPTED,
        "ended_early phantom skipped wrong",
        SIGNAL,
        "https://github.com/libunwind/libunwind/issues/924",
    ),
    limit(
        Trait.FRAMED_AT_LABEL,
        "phantom wrong wrong_register",
        "of an interrupted instruction on x86_64 LLDB believes what it makes of the instructions from the symbol next "
        "before pc on, not the table: behind a label in a function it starts as if the function was just entered",
        _PROFILE,
        _X86,
    ),
    limit(
        Trait.ENTERED_FRAMED,
        "phantom wrong",
        "of an interrupted instruction on x86_64 LLDB believes what it makes of the instructions from the symbol next "
        "before pc on, not the table: code that is entered by a jump has a frame already, or words on the stack",
        _PROFILE,
        _X86,
    ),
    limit(Trait.OTHER_STACK, "ended_early", OTHER_STACK, "https://github.com/golang/go/issues/63630"),
    GCC_REALIGNED,
    *llvm_arm(
        {
            "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": "ended_early skipped wrong wrong_register",
            "NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE": "ended_early skipped",
            "NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER": "ended_early skipped wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE": "wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART": "ended_early skipped",
            "FP_MOVED_IN_PART": "ended_early wrong_register",
            "GIVEN_BACK_IN_PART": "ended_early wrong_register",
            "PROLOGUE+ALLOCATED_IN_PART": "ended_early",
        }
    ),
    limit(
        Trait.VECTOR_RESTORED,
        "wrong_register",
        "LLDB does not carry out DW_CFA_restore_extended: a floating-point register, whose number has more than six "
        "bits, is read from its slot when that is used for something else",
        _CFI,
        _ARMS,
    ),
)
