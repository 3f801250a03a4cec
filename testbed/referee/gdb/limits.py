"""What gdb cannot know where tables lead it: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from testbed.referee.limits import limit, llvm_arm, lost_pointer, put_by_handler
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_GUESSES = "https://sourceware.org/pipermail/gdb/2020-June/048755.html"
_ENDS = "https://github.com/kstenerud/KSCrash/issues/764"
_X86 = frozenset({"x86_64"})
_ARM32 = frozenset({"arm32"})


_OPEN_END = limit(
    Trait.OPEN_END,
    "phantom stopped",
    "nothing says that the start code has no caller: what lies there is taken for a return address, or a frame that "
    "is the same again stops the walk",
    _ENDS,
)
WITH_TABLES = (
    limit(
        Trait.WRONG_TABLE,
        "ended_early phantom refused skipped wrong wrong_register",
        "a table is believed, not checked: where its row is wrong, so are the CFA and what is read from it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    limit(
        Trait.NO_TABLE,
        "ended_early phantom refused skipped stopped wrong wrong_register",
        "code that nobody wrote a table for: gdb's analyser of prologues takes over and guesses",
        _GUESSES,
    ),
    limit(
        Trait.ROOT,
        "stopped",
        "EHABI's table does not say that start code has no caller: its link register is shown as it is, so that the "
        "frame is the same again, and the walk stops there",
        "https://github.com/adamgreen/CrashCatcher/issues/8",
        _ARM32,
    ),
    limit(
        Trait.SYNCHRONOUS,
        "ended_early skipped wrong_register",
        "a table that was made for exceptions is right at calls only: at other instructions its row may be another's",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    put_by_handler(),
    lost_pointer(
        Outcome.REFUSED,
        because="the table says that the frame pointer cannot be had any more, and the caller's row needs it",
        reference="https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
    ),
    _OPEN_END,
    *llvm_arm(
        {
            "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": "ended_early skipped wrong wrong_register",
            "PROLOGUE+ALLOCATED_IN_PART": "ended_early",
            "NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE": "ended_early skipped wrong",
            "NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER": "ended_early skipped wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE": "wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART": "ended_early skipped wrong",
            "FP_MOVED_IN_PART": "ended_early wrong_register",
            "GIVEN_BACK_IN_PART": "ended_early wrong_register",
        }
    ),
    limit(
        Trait.HANDLER,
        "refused",
        "a signal frame where the handler's own frame is, of a handler that keeps nothing, is taken for the same frame",
        "https://github.com/libunwind/libunwind/issues/924",
        _ARM32,
        Trait.SECOND_ISA,
    ),
    limit(
        Trait.REALIGNED,
        "skipped wrong_register",
        "GCC keeps the registers of a realigned frame relative to the frame pointer, and writes no row where its "
        "unoptimised epilogue has popped that one",
        "https://github.com/libunwind/libunwind/issues/43",
        _X86,
        Trait.EPILOGUE,
        Trait.UNLINKED,
    ),
    limit(
        Trait.MOVED_UP,
        "stopped",
        "a caller whose CFA is further in than its callee's is taken for damage: one that has moved its return address "
        "up into its own caller's frame",
        "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c",
    ),
    limit(
        Trait.MOVED_UP,
        "wrong_register",
        "at a ret gdb believes that nothing is left of the frame but the return address, and asks no table: a function "
        "that has moved its return address up has its CFA further in",
        "https://github.com/rr-debugger/rr/pull/2781",
        _X86,
        Trait.EPILOGUE,
    ),
    limit(
        Trait.CODE_POINTER,
        "phantom wrong",
        "at a ret gdb believes that nothing is left of the frame but the return address, and asks no table: of a ret "
        "that jumps to an address just pushed, that is not so",
        "https://github.com/rr-debugger/rr/pull/2781",
        _X86,
        Trait.FRAMELESS,
        Trait.ROW_BEGINS,
    ),
)
