"""What LLDB cannot know without tables: it follows a function's instructions from its symbol on."""

from __future__ import annotations

from dataclasses import replace

from testbed.referee.limits import limit
from testbed.referee.lldb.limits import (
    EMULATION,
    ENDS,
    JUMP,
    NULL,
    OTHER_STACK,
    PLANS,
    SIGNAL,
)
from testbed.words.traits import Trait

_X86, _ARM64, _ARM32, _ARMS = ("x86_64",), ("arm64",), ("arm32",), ("arm64", "arm32")

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
            ENDS,
            arches,
            also,
        )
        for also, arches in ((Trait.LINK_STALE, _ARMS), (Trait.HOLDING, _ARM64))
    ),
    limit(Trait.NO_CODE, "skipped wrong", "a pc of zero has no function, and no instructions to follow", NULL),
    limit(
        Trait.OPEN_END,
        "ended_early phantom wrong wrong_register",
        "the chain of frame pointers that LLDB falls back to ends at a zero pointer; start code left another one",
        ENDS,
    ),
    limit(Trait.SIGNAL, "ended_early skipped wrong", SIGNAL, "https://github.com/libunwind/libunwind/issues/924"),
    limit(
        Trait.SIGNAL,
        "phantom wrong_register",
        SIGNAL,
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
        JUMP,
    ),
    limit(
        Trait.OTHER_STACK,
        "ended_early phantom wrong wrong_register",
        OTHER_STACK,
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
            EMULATION,
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
    limit(Trait.PROLOGUE, "ended_early phantom skipped wrong wrong_register", _FROM_THE_SYMBOL, PLANS, _X86),
    limit(Trait.PROLOGUE, "ended_early phantom", _FROM_THE_SYMBOL, PLANS, _ARM32, Trait.ROW_BEGINS),
    limit(
        Trait.PROLOGUE,
        "wrong",
        "a frame of the old procedure call standard keeps the pc beside lr: of a push of both, the emulation takes the "
        "pc's word for the return address",
        EMULATION,
        _ARM32,
        Trait.APART,
    ),
    limit(
        Trait.FP_REUSED,
        "ended_early phantom wrong wrong_register",
        "saved floating-point registers, and registers that are saved by the store of a pair that LLDB does not know, "
        "are shown as they are now; behind a label in a function, what came before it is not known",
        EMULATION,
    ),
    limit(
        Trait.BEHIND_LABEL,
        "ended_early phantom skipped wrong wrong_register",
        _FROM_THE_SYMBOL,
        PLANS,
        (*_X86, *_ARM64, *_ARM32),
        Trait.HOLDING,
    ),
    limit(
        Trait.REALIGNED,
        "ended_early phantom wrong wrong_register",
        "how far an instruction that aligns SP has moved it is not known: the CFA is counted from the copied record",
        EMULATION,
        _X86,
    ),
    *(
        limit(trait, outcomes, because, EMULATION, arches, *also)
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
        EMULATION,
        _X86,
        Trait.CODE_POINTER,
    ),
    replace(limit(Trait.FP_REUSED, "ended_early", _CALLERS, EMULATION, _ARM32), inner=-1),
    limit(
        Trait.FRAMELESS,
        "phantom",
        "at the head of a loop the emulation has forgotten what was pushed in front of it: the frame counts as empty, "
        "and is found once more as its own caller",
        EMULATION,
        _ARM32,
        Trait.LINK_STALE,
        Trait.CALLED_BY_ROOT,
    ),
    limit(
        Trait.FRAMELESS,
        "ended_early",
        "of a function without a frame nothing is emulated, and the frame pointer, which is the caller's, is followed",
        PLANS,
        _ARM32,
        Trait.UNKEPT,
    ),
)
