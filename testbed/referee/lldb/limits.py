"""What LLDB cannot know, by mode: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from dataclasses import replace

from testbed.referee.limits import GCC_REALIGNED, limit, llvm_arm
from testbed.words.traits import Trait

_PLANS = "https://github.com/llvm/llvm-project/pull/111409"
_EMULATION = "https://github.com/llvm/llvm-project/pull/168398"
_PROFILE = "https://github.com/llvm/llvm-project/pull/110965"
_CFI = "https://github.com/llvm/llvm-project/blob/main/lldb/source/Symbol/DWARFCallFrameInfo.cpp"
_ENDS = "https://github.com/kstenerud/KSCrash/issues/764"
_JUMP = "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html"
_NULL = "https://github.com/libunwind/libunwind/issues/106"
_X86, _ARM64, _ARM32, _ARMS = ("x86_64",), ("arm64",), ("arm32",), ("arm64", "arm32")


_SIGNAL = (
    "a signal's trampoline is looked up before its first instruction, as after a call, and so is what a signal "
    "interrupted: the function before it is taken"
)
_OTHER_STACK = "a caller's frame that lies further in than its callee's, on another stack, ends the backtrace"

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
        _PLANS,
    ),
    replace(
        limit(
            Trait.NO_TABLE,
            "ended_early",
            "a caller in code without a table, of which no CFA comes out, is not listed",
            _PLANS,
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
        _NULL,
    ),
    limit(
        Trait.OPEN_END,
        "phantom",
        "nothing says that the start code has no caller: what lies there is taken for a return address",
        _ENDS,
    ),
    limit(
        Trait.LOST_REGISTER,
        "ended_early",
        "where the table says that the frame pointer cannot be had any more, for it is the target's of a jump already, "
        "LLDB ends without a word",
        _JUMP,
        None,
        Trait.FP_REUSED,
    ),
    limit(
        Trait.SIGNAL,
        "ended_early phantom skipped wrong wrong_register",
        _SIGNAL,
        "https://github.com/libunwind/libunwind/issues/924",
    ),
    limit(
        Trait.HANDLER,
        "ended_early phantom skipped wrong",
        _SIGNAL,
        "https://github.com/libunwind/libunwind/issues/924",
    ),
    limit(
        Trait.INTERRUPTED,
        "ended_early phantom skipped wrong",
        _SIGNAL,
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
    limit(Trait.OTHER_STACK, "ended_early", _OTHER_STACK, "https://github.com/golang/go/issues/63630"),
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

_FROM_THE_SYMBOL = (
    "instructions are followed from the symbol next before pc, as if a call had just entered: behind a label in a "
    "function, what came before it is not known"
)

_STORED = "a register that is saved by a store, not by a push, is not known to be saved: it is shown as it is now"
_BRANCHES = "of several ways that lead here one is followed: what the emulation knows of SP and FP is that of the other"
_LATE = "a frame pointer that is set behind other instructions is not believed: the CFA is counted from SP"
_START = "the start code has no prologue to follow: what it keeps in the frame pointer is not a frame"
_AT_RETURN = (
    "the start code has no prologue to follow, so its callee's frame pointer is followed, as if the words of a record "
    "were in the order of the procedure call standard: GCC's are in the other one, and it leads to the return address"
)
_LARGE = "a frame too large for an immediate is made by the subtraction of a register, which the emulation leaves out"
_POPPED = "what a profiler's call takes off the stack for its caller is counted as if it was still there"
_CALLERS = "a frame pointer that the caller uses for something else is followed like a frame's"
WITHOUT_TABLES = (
    *(
        limit(
            Trait.ROOT,
            "phantom",
            "nothing says that the start code has no caller: what its link register holds is taken for a return "
            "address",
            _ENDS,
            arches,
            also,
        )
        for also, arches in ((Trait.LINK_STALE, _ARMS), (Trait.HOLDING, _ARM64))
    ),
    limit(Trait.NO_CODE, "skipped wrong", "a pc of zero has no function, and no instructions to follow", _NULL),
    limit(
        Trait.OPEN_END,
        "ended_early phantom wrong wrong_register",
        "the chain of frame pointers that LLDB falls back to ends at a zero pointer; start code left another one",
        _ENDS,
    ),
    limit(Trait.SIGNAL, "ended_early skipped wrong", _SIGNAL, "https://github.com/libunwind/libunwind/issues/924"),
    limit(
        Trait.SIGNAL,
        "phantom wrong_register",
        _SIGNAL,
        "https://github.com/libunwind/libunwind/issues/924",
        _ARM64,
    ),
    limit(
        Trait.HANDLER,
        "wrong",
        "a trampoline is looked up before its first instruction, as after a call: right behind the handler that is the "
        "handler itself, which at its own first instruction is found once more as its caller",
        "https://github.com/libunwind/libunwind/issues/924",
        _ARM64,
        Trait.FIRST,
        Trait.LINK_INSIDE,
    ),
    limit(
        Trait.LOST_REGISTER,
        "ended_early phantom skipped wrong wrong_register",
        "the frame's registers are already those of the place that a jump goes to",
        _JUMP,
    ),
    limit(
        Trait.OTHER_STACK,
        "ended_early phantom wrong wrong_register",
        _OTHER_STACK,
        "https://github.com/golang/go/issues/63630",
    ),
    limit(
        Trait.SPLIT_FUNCTION,
        "ended_early phantom skipped wrong wrong_register",
        "a symbol is taken for a function that is entered by a call, with nothing on the stack yet: a part of one that "
        "is jumped to has a frame already",
        "https://github.com/llvm/llvm-project/issues/125299",
    ),
    limit(
        Trait.NO_TABLE,
        "ended_early phantom skipped wrong wrong_register",
        "code without tables may be code without a symbol: where its function begins is unknown",
        "https://github.com/openssl/openssl/issues/10635",
    ),
    *(
        limit(
            Trait.EPILOGUE,
            outcomes,
            f"{_FROM_THE_SYMBOL}; behind an epilogue in mid-function, neither is what a branch brings along",
            _EMULATION,
            arches,
            *also,
        )
        for outcomes, arches, also in (
            ("ended_early phantom skipped wrong wrong_register", _X86, ()),
            ("ended_early wrong wrong_register", _ARMS, (Trait.ROW_BEGINS,)),
            ("phantom skipped", _ARM32, (Trait.ROW_BEGINS,)),
            ("skipped", _ARM32, (Trait.PARTLY_RUN,)),
        )
    ),
    limit(Trait.PROLOGUE, "ended_early phantom skipped wrong wrong_register", _FROM_THE_SYMBOL, _PLANS, _X86),
    limit(Trait.PROLOGUE, "ended_early phantom", _FROM_THE_SYMBOL, _PLANS, _ARM32, Trait.ROW_BEGINS),
    limit(
        Trait.PROLOGUE,
        "wrong",
        "a frame of the old procedure call standard keeps the pc beside lr: of a push of both, the emulation takes the "
        "pc's word for the return address",
        _EMULATION,
        _ARM32,
        Trait.APART,
    ),
    limit(
        Trait.FP_REUSED,
        "ended_early phantom wrong wrong_register",
        "saved floating-point registers, and registers that are saved by the store of a pair that LLDB does not know, "
        "are shown as they are now; behind a label in a function, what came before it is not known",
        _EMULATION,
    ),
    limit(
        Trait.BEHIND_LABEL,
        "ended_early phantom skipped wrong wrong_register",
        _FROM_THE_SYMBOL,
        _PLANS,
        (*_X86, *_ARM64, *_ARM32),
        Trait.HOLDING,
    ),
    limit(
        Trait.REALIGNED,
        "ended_early phantom wrong wrong_register",
        "how far an instruction that aligns SP has moved it is not known: the CFA is counted from the copied record",
        _EMULATION,
        _X86,
    ),
    *(
        limit(trait, outcomes, because, _EMULATION, arches, *also)
        for trait, outcomes, because, arches, also in (
            (Trait.CHANGED, "wrong_register", _STORED, _X86, ()),
            (Trait.JUMPED_TO, "skipped", _BRANCHES, _X86, (Trait.FRAMELESS, Trait.FRAME_ELSEWHERE)),
            (Trait.FRAMELESS, "ended_early", _BRANCHES, (*_X86, *_ARM32), (Trait.FP_OMITTED, Trait.PARTLY_RUN)),
            (Trait.FRAMELESS, "wrong_register", _BRANCHES, _ARM32, (Trait.FP_OMITTED, Trait.PARTLY_RUN, Trait.UNKEPT)),
            (Trait.CALLED_BY_ROOT, "ended_early wrong_register", _AT_RETURN, _ARM32, (Trait.FP_AT_RETURN,)),
            (Trait.CALLED_BY_ROOT, "ended_early", _START, _ARM64, (Trait.LINKED, Trait.LINK_LIVE)),
            (Trait.CALLED_BY_ROOT, "ended_early", _START, _ARM64, (Trait.LINKED, Trait.LINK_STALE)),
            (Trait.CHANGED, "wrong_register", _STORED, _ARM64, (Trait.CALLED_BY_ROOT, Trait.FP_SET_LATE)),
            (Trait.CHANGED, "ended_early", _POPPED, _ARM32, (Trait.CALLED_BY_ROOT, Trait.FP_OMITTED, Trait.UNLINKED)),
            (Trait.LINKED, "ended_early", _LATE, _ARM64, (Trait.FP_SET_LATE, Trait.FP_OMITTED)),
            (Trait.LINKED, "wrong_register", _LATE, _ARM64, (Trait.FP_SET_LATE, Trait.CHANGED)),
            (Trait.LINKED, "ended_early", _LATE, _ARM64, (Trait.LEAF_RECORD,)),
            (Trait.LINKED, "ended_early phantom", _LATE, _ARM32, (Trait.FP_SET_LATE, Trait.REALIGNED)),
            (Trait.LINKED, "ended_early wrong", _LATE, _ARM32, (Trait.FP_SET_LATE, Trait.APART)),
            (Trait.LINKED, "ended_early", _BRANCHES, _ARMS, (Trait.FP_SET_LATE, Trait.PARTLY_RUN)),
            (Trait.LINKED, "ended_early", _BRANCHES, _ARM32, (Trait.CALLED_BY_ROOT, Trait.PARTLY_RUN)),
            (Trait.DISTANT, "ended_early phantom wrong", _LARGE, _ARMS, ()),
            (Trait.FRAMELESS, "ended_early", _LARGE, _ARM64, (Trait.FAR, Trait.FP_OMITTED, Trait.HOLDING)),
            (Trait.FRAMELESS, "wrong", _BRANCHES, _ARM32, (Trait.REALIGNED,)),
        )
    ),
    limit(
        Trait.NAMELESS,
        "ended_early",
        "a handler returns to a trampoline that no symbol names: where its instructions begin is not known",
        "https://github.com/libunwind/libunwind/issues/924",
        (*_X86, *_ARM64, *_ARM32),
        Trait.HANDLER,
    ),
    limit(
        Trait.JUMPED_TO,
        "ended_early",
        "what an inline return thunk's call has pushed is not counted: the code behind it is reached by the jump that "
        "the thunk ends with, not from the instruction in front",
        _EMULATION,
        _X86,
        Trait.CODE_POINTER,
    ),
    replace(limit(Trait.FP_REUSED, "ended_early", _CALLERS, _EMULATION, _ARM32), inner=-1),
    limit(
        Trait.FRAMELESS,
        "phantom",
        "at the head of a loop the emulation has forgotten what was pushed in front of it: the frame counts as empty, "
        "and is found once more as its own caller",
        _EMULATION,
        _ARM32,
        Trait.LINK_STALE,
        Trait.CALLED_BY_ROOT,
    ),
    limit(
        Trait.FRAMELESS,
        "ended_early",
        "of a function without a frame nothing is emulated, and the frame pointer, which is the caller's, is followed",
        _PLANS,
        _ARM32,
        Trait.UNKEPT,
    ),
)
