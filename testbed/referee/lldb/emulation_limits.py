"""What LLDB cannot know without tables: it follows a function's instructions from its symbol on.

Read in LLVM's sources of LLDB 22 (``lldb/source/``), which say by which mechanisms that is wrong:

* ``Plugins/UnwindAssembly/x86``: instructions are gone through by address. Bytes are compared with the usual forms of
  a push, a pop, a subtraction from SP, and of ``mov %rsp, %rbp``; a register is saved by a push, or by a store that is
  counted from FP. Behind a return, what held before the epilogue holds again.
* ``Plugins/UnwindAssembly/InstEmulation``, on ARM: instructions are followed along branches to known targets. Behind
  one that ends a block nothing is visited, a conditional return included: the row next in front holds there. What reads
  back a register that was stored counts as an epilogue, so that the CFA is counted from SP again; an addition to FP
  counts as one of SP.
* ``Target/UnwindLLDB.cpp``: where a caller leads nowhere, the architecture's default, a chain of frame pointers, is
  tried for the function in front, and kept if it differs. So the one that the outermost one has called is asked twice.
* ``Target/RegisterContextUnwind.cpp``: a function begins at the symbol that covers the pc; a label without a size ends
  at the next one.
"""

from __future__ import annotations

from types import MappingProxyType

from testbed.contract.limits import Reasons, limits_of
from testbed.referee.lldb.limits import EMULATION, ENDS, JUMP, NULL, OTHER_STACK, PLANS, SIGNAL

_X86_SOURCE = (
    "https://github.com/llvm/llvm-project/blob/main/lldb/source/Plugins/UnwindAssembly/x86/"
    "x86AssemblyInspectionEngine.cpp"
)
_ALONG_BRANCHES = "https://github.com/llvm/llvm-project/pull/169630"
_ASKED_TWICE = "https://github.com/llvm/llvm-project/blob/main/lldb/source/Target/UnwindLLDB.cpp"
_SIGNALS = "https://github.com/libunwind/libunwind/issues/924"
_OTHER_STACKS = "https://github.com/golang/go/issues/63630"
_PARTS = "https://github.com/llvm/llvm-project/issues/125299"

_AT_LABEL = (
    "instructions are followed from the symbol that covers pc, as if a call had just entered there: at a label in a "
    "function, what was pushed in front of it, and that FP is set, is not known"
)
_ENTERED = (
    "a symbol is taken for a function that is entered by a call, with nothing on the stack yet: this one is jumped to "
    "with a frame"
)
_SPLIT = "a part of a function that is jumped to counts as a function of its own: what another part saved is not known"
_STORED = (
    "a register that is saved by a store that is not counted from FP is not known to be saved: it is shown as it is now"
)
_COPIED = (
    "behind an instruction that aligns SP the CFA is counted from SP as before it; by FP, which is tried "
    "then, it is counted from the end of the copied record"
)
_TWICE = (
    "the outermost function has no caller, so the one that it has called is asked again by the architecture's default; "
    "that counts the CFA from the record's end, which is not that of the frame, and it knows no other register"
)
_AT_RETURN = (
    "the outermost function has no caller, so the one that it has called is asked again by the architecture's default; "
    "that takes the words of a record in the order of the procedure call standard: GCC's lead to the return address"
)
_TAKEN = (
    "what takes as much of the stack as a register holds is left out, and what reads back a register that was stored "
    "counts as an epilogue: from there on the CFA is counted from SP"
)
_LOST = "the frame's registers are already those of the place that a jump goes to"
_POPPED = "a load that moves SP behind itself counts as if it moved SP twice: the CFA lies as far below the true one"
_LOOP = "at the head of a loop the state behind its end holds: what was pushed in front of it is forgotten"
_BEHIND_RETURN = (
    "a conditional return ends what is visited: what is behind it has the row in front of it, that of an empty frame"
)
_IN_FRONT = "behind a return in mid-function, what its epilogue gave back is not there any more"
_ADDED = (
    "an addition whose result goes to the frame pointer counts as one of SP, so the CFA is counted from a register "
    "that holds something else"
)
_TWO_WORDS = (
    "a frame of the old procedure call standard keeps the pc beside lr: of a push of both, the emulation takes the "
    "pc's word for the return address"
)
_PROFILER = "what a profiler's call takes off the stack for its caller is counted as if it was still there"
_BACK = (
    "behind a call, or a label, what a push and a jump have put on the stack for a call, or have taken off it, is not "
    "counted"
)
_OTHER_PATH = (
    "of several ways that lead here one is followed: what the emulation knows of SP and FP is that of the other"
)
_THUMB_POP = (
    "of a pop in Thumb's wide form neither what SP gains nor what is loaded counts: behind it the frame is still there"
)
_TO_ANOTHER = "a register that was given a value by an addition to another one is not known to be computed from it"
_UP = "the function moves its return address up, into its caller's frame, and SP with it: the CFA lies below SP then"
_HANDLED = (
    "a trampoline is looked up before its first instruction, as after a call: right behind the handler that is the "
    "handler itself, which at its own first instruction is found once more as its caller"
)

REASONS: Reasons = MappingProxyType(
    {
        "ROOT+LINK_ELSEWHERE": (
            "nothing says that the start code has no caller: where its link register leads elsewhere than to pc, that "
            "is taken for the return address",
            ENDS,
        ),
        "ROOT+HOLDING": ("nothing says that the start code has no caller: what it has pushed is taken for one", ENDS),
        "NO_CODE": ("a pc of zero has no function, and no instructions to follow", NULL),
        "OPEN_END": (
            "the chain of frame pointers that LLDB falls back to ends at a zero pointer; start code left another one",
            ENDS,
        ),
        "SIGNAL": (SIGNAL, _SIGNALS),
        "HANDLER+FIRST+LINK_INSIDE": (_HANDLED, _SIGNALS),
        "NAMELESS+HANDLER": (
            "a handler returns to a trampoline that no symbol names: where its instructions begin is not known",
            _SIGNALS,
        ),
        "HANDLER+BARE+CFA_MOVED": (SIGNAL, _SIGNALS),
        "NO_TABLE": (
            "code without tables may be code without a symbol: where its function begins is unknown",
            "https://github.com/openssl/openssl/issues/10635",
        ),
        "FRAMED_AT_LABEL": (_AT_LABEL, PLANS),
        "CALLER_FRAMED_AT_LABEL": (_AT_LABEL, PLANS),
        "CALLER_FRAMED_AT_LABEL>1": (_AT_LABEL, PLANS),
        "ENTERED_FRAMED": (_ENTERED, _PARTS),
        "SPLIT_FUNCTION+CHANGED": (_SPLIT, _PARTS),
        "MOVED_UP": (_UP, EMULATION),
        "CHANGED+INEXPRESSIBLE+LINKED_FURTHER": (_TO_ANOTHER, EMULATION),
        "CHANGED_AND_STORED": (_STORED, _X86_SOURCE),
        "CHANGED_AND_STORED+FP_REUSED": (_STORED, _X86_SOURCE),
        "RECORD_APART": (_COPIED, _X86_SOURCE),
        "REALIGNED+FRAME_IN_PART+UNLINKED": (_COPIED, _X86_SOURCE),
        "RECORD_APART+CALLED_BY_ROOT+LINK_LIVE": (_TWICE, _ASKED_TWICE),
        "RECORD_APART+CALLED_BY_ROOT+LINK_STALE": (_TWICE, _ASKED_TWICE),
        "RECORD_APART+CALLED_BY_ROOT+CHANGED": (_TWICE, _ASKED_TWICE),
        "CALLED_BY_ROOT+FP_AT_RETURN": (_AT_RETURN, _ASKED_TWICE),
        "BEHIND_LABEL+CODE_POINTER+FRAMELESS": (_BACK, _X86_SOURCE),
        "JUMPED_TO+CODE_POINTER": (_BACK, _X86_SOURCE),
        "SP_SET+LINKED+LINK_LIVE": (_TAKEN, EMULATION),
        "SP_SET+LINKED+LINK_STALE": (_TAKEN, EMULATION),
        "SP_SET+CHANGED+FP_OMITTED+LINKED>1": (_TAKEN, EMULATION),
        "SP_SET+FRAMELESS+HOLDING": (_TAKEN, EMULATION),
        "SP_SET+FAR+FRAMELESS": (_TAKEN, EMULATION),
        "FP_REUSED+DISTANT": (OTHER_STACK, _OTHER_STACKS),
        "FP_REUSED+APART+BEHIND_LABEL+CHANGED": (
            "saved floating-point registers are shown as they are now behind a label",
            EMULATION,
        ),
        "FP_REUSED+LINK_STALE": (_ADDED, EMULATION),
        "FP_REUSED+LINK_LIVE": (_ADDED, EMULATION),
        "FP_REUSED+CHANGED>1": (_ADDED, EMULATION),
        "FP_REUSED+LOST_REGISTER": (_LOST, JUMP),
        "LINKED+APART+FP_SET_LATE": (_TWO_WORDS, EMULATION),
        "PROLOGUE+APART": (_TWO_WORDS, EMULATION),
        "UNKEPT+FP_OMITTED+FRAMELESS+HOLDING": (_BEHIND_RETURN, _ALONG_BRANCHES),
        "PASSED_OVER+FP_OMITTED+FRAMELESS+HOLDING": (_BEHIND_RETURN, _ALONG_BRANCHES),
        "LINKED+FP_SET_LATE+LINK_LIVE+PARTLY_RUN": (_IN_FRONT, _ALONG_BRANCHES),
        "LINKED+FP_SET_LATE+LINK_LIVE+REALIGNED": (_IN_FRONT, _ALONG_BRANCHES),
        "LINKED+FP_SET_LATE+LINK_STALE+REALIGNED": (_IN_FRONT, _ALONG_BRANCHES),
        "EPILOGUE+BARE+ROW_BEGINS+SECOND_ISA": (_THUMB_POP, EMULATION),
        "CHANGED+CALLED_BY_ROOT+FRAME_IN_PART": (_PROFILER, EMULATION),
        "WRONG_TABLE+CFA_MOVED<1": (_PROFILER, EMULATION),
        "REALIGNED+EPILOGUE+UNLINKED": (_COPIED, _X86_SOURCE),
        "PASSED_OVER+BARE": (_OTHER_PATH, _X86_SOURCE),
        "BEHIND_LABEL+FRAMELESS+LINKED_FURTHER+PROLOGUE": (_BACK, _X86_SOURCE),
        "BEHIND_LABEL+FRAMELESS_CALLER+LINKED_FURTHER": (_BACK, _X86_SOURCE),
        "OTHER_STACK+CFA_MOVED+UNLINKED": (OTHER_STACK, _OTHER_STACKS),
        "LOST_REGISTER+CFA_MOVED": (_LOST, JUMP),
        "LOST_REGISTER+CFA_MOVED+PROLOGUE": (_LOST, JUMP),
        "LOST_REGISTER+CFA_MOVED+EPILOGUE": (_LOST, JUMP),
        "EPILOGUE+BARE+FP_OMITTED": (_POPPED, EMULATION),
        "CFA_MOVED+FRAMELESS+HOLDING+KEPT_ELSEWHERE": (_POPPED, EMULATION),
        "EPILOGUE+HOLDING+LINKED_FURTHER": (_IN_FRONT, _ALONG_BRANCHES),
        "LINKED+CALLED_BY_ROOT+LINK_LIVE+NO_EPILOGUE_ROWS+PARTLY_RUN": (_IN_FRONT, _ALONG_BRANCHES),
        "LINKED+NO_RECORD+SP_SET": (_TAKEN, EMULATION),
        "FRAMELESS+CALLED_BY_ROOT+HOLDING+LINK_OUTSIDE+LINK_STALE+PARTLY_RUN": (_LOOP, _ALONG_BRANCHES),
        "EPILOGUE+BARE+FP_OMITTED+KEPT_ELSEWHERE+LINK_LIVE": (_PROFILER, EMULATION),
        "BEHIND_WRONG+CFA_MOVED+RETURNED": (_PROFILER, EMULATION),
    }
)

WITHOUT_TABLES = limits_of(
    """
    NO_CODE                                     x86_64  skipped wrong
    NO_CODE                                     arm64   skipped wrong
    NO_CODE                                     arm32   skipped wrong
    OPEN_END                                    x86_64  ended_early phantom wrong wrong_register
    OPEN_END                                    arm64   ended_early phantom wrong wrong_register
    OPEN_END                                    arm32   ended_early phantom wrong wrong_register
    SIGNAL                                      x86_64  ended_early skipped wrong
    SIGNAL                                      arm64   ended_early phantom skipped wrong wrong_register
    SIGNAL                                      arm32   ended_early skipped wrong
    HANDLER+FIRST+LINK_INSIDE                   arm64   wrong
    HANDLER+FIRST+LINK_INSIDE                   arm32   wrong
    NO_TABLE                                    x86_64  ended_early phantom skipped wrong wrong_register
    NO_TABLE                                    arm64   ended_early phantom skipped wrong wrong_register
    NO_TABLE                                    arm32   ended_early phantom skipped wrong wrong_register
    NAMELESS+HANDLER                            x86_64  ended_early
    NAMELESS+HANDLER                            arm64   ended_early
    NAMELESS+HANDLER                            arm32   ended_early
    ROOT+LINK_ELSEWHERE                         arm64   phantom
    ROOT+LINK_ELSEWHERE                         arm32   phantom
    ROOT+HOLDING                                arm64   phantom
    ROOT+HOLDING                                arm32   phantom
    FRAMED_AT_LABEL                             x86_64  ended_early phantom skipped wrong wrong_register
    FRAMED_AT_LABEL                             arm64   ended_early phantom skipped wrong wrong_register
    FRAMED_AT_LABEL                             arm32   ended_early phantom skipped wrong wrong_register
    CALLER_FRAMED_AT_LABEL                      x86_64  ended_early phantom skipped wrong wrong_register
    CALLER_FRAMED_AT_LABEL                      arm64   ended_early phantom skipped wrong wrong_register
    CALLER_FRAMED_AT_LABEL                      arm32   ended_early phantom skipped wrong wrong_register
    ENTERED_FRAMED                              x86_64  phantom skipped wrong
    ENTERED_FRAMED                              arm64   ended_early phantom wrong wrong_register
    ENTERED_FRAMED                              arm32   ended_early phantom wrong_register
    CALLER_FRAMED_AT_LABEL>1                    arm32   ended_early
    SPLIT_FUNCTION+CHANGED                      arm64   wrong_register
    MOVED_UP                                    x86_64  phantom wrong_register
    MOVED_UP                                    arm64   phantom wrong_register
    MOVED_UP                                    arm32   phantom wrong_register
    CHANGED+INEXPRESSIBLE+LINKED_FURTHER        x86_64  wrong_register
    CHANGED+INEXPRESSIBLE+LINKED_FURTHER        arm64   wrong_register
    CHANGED+INEXPRESSIBLE+LINKED_FURTHER        arm32   wrong_register
    CHANGED_AND_STORED                          x86_64  wrong_register
    CHANGED_AND_STORED+FP_REUSED                x86_64  ended_early
    RECORD_APART                                x86_64  ended_early phantom skipped wrong wrong_register
    RECORD_APART+CALLED_BY_ROOT+LINK_LIVE       arm64   ended_early
    RECORD_APART+CALLED_BY_ROOT+LINK_STALE      arm64   ended_early
    RECORD_APART+CALLED_BY_ROOT+CHANGED         arm64   wrong_register
    REALIGNED+FRAME_IN_PART+UNLINKED            x86_64  ended_early skipped wrong wrong_register
    REALIGNED+EPILOGUE+UNLINKED                 x86_64  phantom
    PASSED_OVER+BARE                            x86_64  ended_early skipped wrong
    BEHIND_LABEL+CODE_POINTER+FRAMELESS         x86_64  skipped
    BEHIND_LABEL+FRAMELESS+LINKED_FURTHER+PROLOGUE  x86_64  skipped
    BEHIND_LABEL+FRAMELESS_CALLER+LINKED_FURTHER  x86_64  skipped
    OTHER_STACK+CFA_MOVED+UNLINKED              x86_64  ended_early
    JUMPED_TO+CODE_POINTER                      x86_64  ended_early phantom wrong
    SP_SET+LINKED+LINK_LIVE                     arm64   ended_early wrong_register
    SP_SET+LINKED+LINK_STALE                    arm64   ended_early wrong_register
    SP_SET+CHANGED+FP_OMITTED+LINKED>1          arm64   ended_early
    LINKED+FP_SET_LATE+LINK_LIVE+PARTLY_RUN     arm32   ended_early
    SP_SET+FRAMELESS+HOLDING                    arm64   ended_early
    SP_SET+FAR+FRAMELESS                        arm32   ended_early
    FP_REUSED+APART+BEHIND_LABEL+CHANGED        arm64   wrong_register
    FP_REUSED+DISTANT                           arm64   ended_early
    EPILOGUE+BARE+FP_OMITTED                    arm64   ended_early phantom skipped
    CFA_MOVED+FRAMELESS+HOLDING+KEPT_ELSEWHERE  arm64   wrong_register
    HANDLER+BARE+CFA_MOVED                      arm64   wrong
    HANDLER+BARE+CFA_MOVED                      arm32   wrong
    CALLED_BY_ROOT+FP_AT_RETURN                 arm32   ended_early wrong_register
    LINKED+APART+FP_SET_LATE                    arm32   ended_early wrong
    PROLOGUE+APART                              arm32   wrong
    UNKEPT+FP_OMITTED+FRAMELESS+HOLDING         arm32   ended_early wrong wrong_register
    PASSED_OVER+FP_OMITTED+FRAMELESS+HOLDING    arm32   ended_early
    FRAMELESS+CALLED_BY_ROOT+HOLDING+LINK_OUTSIDE+LINK_STALE+PARTLY_RUN  arm32   ended_early phantom
    FP_REUSED+LINK_STALE                        arm32   ended_early
    FP_REUSED+LINK_LIVE                         arm32   ended_early
    FP_REUSED+LOST_REGISTER                     x86_64  skipped
    FP_REUSED+LOST_REGISTER                     arm64   skipped
    FP_REUSED+LOST_REGISTER                     arm32   skipped
    LOST_REGISTER+CFA_MOVED                     arm64   skipped
    LOST_REGISTER+CFA_MOVED+PROLOGUE            arm32   skipped
    LOST_REGISTER+CFA_MOVED+EPILOGUE            arm32   skipped
    FP_REUSED+CHANGED>1                         arm32   ended_early
    CHANGED+CALLED_BY_ROOT+FRAME_IN_PART        arm32   ended_early
    LINKED+FP_SET_LATE+LINK_LIVE+REALIGNED      arm32   phantom
    LINKED+FP_SET_LATE+LINK_STALE+REALIGNED     arm32   ended_early phantom
    LINKED+CALLED_BY_ROOT+LINK_LIVE+NO_EPILOGUE_ROWS+PARTLY_RUN  arm32   ended_early
    EPILOGUE+HOLDING+LINKED_FURTHER             arm32   skipped
    EPILOGUE+BARE+FP_OMITTED+KEPT_ELSEWHERE+LINK_LIVE  arm32   ended_early
    BEHIND_WRONG+CFA_MOVED+RETURNED             arm32   ended_early
    LINKED+NO_RECORD+SP_SET                     arm32   ended_early phantom
    EPILOGUE+BARE+ROW_BEGINS+SECOND_ISA         arm32   ended_early skipped
    WRONG_TABLE+CFA_MOVED<1                     arm32   ended_early
    """,
    REASONS,
)
