"""Why gdb's analysers of prologues are wrong, by mechanism; `testbed.referee.gdb.analyser_limits` says where."""

from __future__ import annotations

from testbed.referee.limits import put_by_handler

_GUESSES = "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/arm-tdep.c;hb=refs/heads/gdb-13-branch"
_AARCH64 = "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/aarch64-tdep.c;hb=refs/heads/gdb-13-branch"
_AMD64 = "https://gnu.googlesource.com/binutils-gdb/+/f9aa48dc545ef511e19f4dfab88a196b820fd2da"
_EPILOGUES = (
    "https://review.tizen.org/git/?a=commit&h=779aa56f2c160ef508ca98fac1ffd23cad6fc63f&p=external%2Fbinutils.git"
)
_PUT_BY_HANDLER = put_by_handler()
_STRAIGHT = "ARM's analysers read on from the function's symbol up to pc or the first branch or call; "
_UNSEEN = (
    _STRAIGHT + "what the function has moved FP or SP by behind that, and what it has saved there, they do not see",
    _GUESSES,
)
_NO_CONSTANT = (
    _STRAIGHT + "that SP is moved by a register there, or aligned, is skipped as what they do not know: the frame is "
    "taken for smaller than it is",
    _GUESSES,
)
_NOT_PUSHED = (
    _STRAIGHT + "a register that is stored into room made before, or pushed by way of another one, is shown as it is "
    "now: A32's knows pushes only",
    _GUESSES,
)
_ONE_PROLOGUE = (
    "amd64's analyser knows one prologue, push rbp; mov rbp, rsp: of a function that has none, or has one of another "
    "order, it takes SP for what it was at the entry, and rbp for the caller's",
    _AMD64,
)
REASONS = {
    "NO_CODE+SIGNAL": (_PUT_BY_HANDLER.because, _PUT_BY_HANDLER.reference),
    "NO_CODE": (
        "a frame whose pc is zero ends the stack",
        "https://github.com/libunwind/libunwind/issues/106",
    ),
    "SIGNAL": (
        "a signal interrupts a function anywhere: before the frame that the analyser finds is there, or after it; a "
        "trampoline that is not as Linux writes it is taken for a function",
        _GUESSES,
    ),
    "RECORD_REPLACED": (
        "amd64's analyser takes what rbp leads to for the record that the function has linked; an unwinder has put "
        "there the frame that it goes to",
        _AMD64,
    ),
    "INTERRUPTED": (
        "behind a signal's frame no call was made: the rows of EHABI, which are believed there, do not hold, and a "
        "frame may not be there yet",
        _GUESSES,
    ),
    "SPLIT_FUNCTION": (
        "a symbol is taken for a function that is entered by a call, with nothing on the stack yet: a part of one that "
        "is jumped to has a frame already",
        "https://github.com/llvm/llvm-project/issues/125299",
    ),
    **dict.fromkeys(
        ("OTHER_STACK", "OTHER_STACK+CHANGED_INSIDE"),
        (
            "a coroutine's first function was entered by a switch of stacks and by no call: what its instructions take "
            "for the return address is whatever lies there",
            "https://github.com/tarantool/tarantool/issues/6889",
        ),
    ),
    "LOST_REGISTER+FP_REUSED": (
        "the frame's registers are already those of the place that a jump goes to",
        "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
    ),
    "SHADOW_STACK": (
        "x18, which a function moves up and down by a word, is shown as it is: nothing stores it on the stack",
        _AARCH64,
    ),
    "MOVED_UP": (
        "a function that has moved its return address up, and SP with it: the analyser still sees the frame that it "
        "had before",
        _GUESSES,
    ),
    "BEHIND_START": (
        "a pc right behind a system call counts as inside one, where EHABI's row is believed as behind a call: the "
        "first function behind start code, whose last instruction is the call that ends the program, is such a one",
        _GUESSES,
    ),
    "BARE+PROLOGUE+RETURN_UNSAVED": (
        "a pc right behind a system call counts as inside one, where EHABI's row is believed as behind a call: at the "
        "first instruction of a function behind a trampoline's call nothing is pushed yet",
        _GUESSES,
    ),
    "EPILOGUE": (
        "the epilogue unwinder, and that of a ret, take SP for the CFA where it may not be yet, as at pop {.., pc}; "
        "without it the frame is still seen that is gone by then",
        _EPILOGUES,
    ),
    "EPILOGUE+LINKED+ROW_BEGINS": (
        "the epilogue unwinder takes SP for the CFA at a pop that a return follows, behind an instruction that gives "
        "SP back; so it reads the frame's words below SP, where earlier calls have left theirs",
        _EPILOGUES,
    ),
    "FP_FOR_LOCALS+WITHOUT_EFFECT": (
        "the epilogue unwinder takes SP for the CFA, from the instruction behind mov sp, r7 on: here that one has "
        "changed nothing, and what was pushed is on the stack still",
        _EPILOGUES,
    ),
    **dict.fromkeys(
        ("FP_REUSED+FRAME_IN_PART", "FRAMELESS+FRAME_IN_PART"),
        (
            "the frame is counted from SP, by all that the prologue pushes: that some of it has been given back, in "
            "the middle of the function, is not seen",
            _GUESSES,
        ),
    ),
    "FP_REUSED": (
        "the frame pointer was set in the prologue, so the frame is counted from it: here it holds something else; "
        "of zero amd64's analyser believes that the frame is the outermost one",
        _GUESSES,
    ),
    **dict.fromkeys(
        ("LINKED+FRAME_IN_PART+PASSED_OVER", "LOST_REGISTER+LINKED+BEHIND_LABEL"),
        (
            "the frame is counted from SP, by all that the prologue pushes: that a jump to a landing pad has given "
            "some of it back is not seen",
            _GUESSES,
        ),
    ),
    "HOLDING+PROLOGUE+SETS_FP_LATE+LINKED_FURTHER": (
        "the frame pointer was set in the prologue, so the frame is counted from it: here it has been given back, and "
        "SP not yet",
        _GUESSES,
    ),
    "LINKED_FURTHER+HOLDING+OTHER_IN_FRONT": (
        "amd64's analyser has found the one prologue that it knows, so it follows rbp: on the path that was jumped to, "
        "behind the pop of rbp, that is the caller's",
        _AMD64,
    ),
    "BARE+CHANGED+UNLINKED": (
        _STRAIGHT + "a register that is stored elsewhere than by a push is shown as it is now: here it was stored into "
        "the caller's frame",
        _GUESSES,
    ),
    "EPILOGUE+FP_REUSED+CFA_MOVED": (
        "the epilogue unwinder takes SP for the CFA at a pop that a return follows, behind an instruction that gives "
        "SP back; so it reads the frame's words below SP, where earlier calls have left theirs",
        _EPILOGUES,
    ),
    "WRONG_TABLE": (
        "a table is believed, not checked, behind a call: where its row is wrong, so is what is popped by it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    "OTHER_STACK+CODE_POINTER": (
        "a coroutine's first function was entered by a switch of stacks and by no call: the address of code that lies "
        "where a call would have put the return address is taken for that",
        "https://github.com/tarantool/tarantool/issues/6889",
    ),
    "OTHER_STACK+LINK_OUTSIDE": (
        "a coroutine's first function was entered by a switch of stacks and by no call: the link register has the "
        "return address of that switch's caller",
        "https://github.com/tarantool/tarantool/issues/6889",
    ),
    "FRAMELESS+HOLDING+PARTLY_RUN+LINKED_FURTHER": _UNSEEN,
    "LOST_REGISTER+FRAMELESS_CALLER+LINKED_FURTHER_ON": _UNSEEN,
    "LINKED+FP_SET_LATE": _UNSEEN,
    "HOLDING+PROLOGUE+SETS_FP_LATE": _UNSEEN,
    "FRAMELESS+FRAME_ELSEWHERE": _UNSEEN,
    "FRAMELESS+PASSED_OVER": _UNSEEN,
    "FRAMELESS+HOLDING+PARTLY_RUN+SECOND_ISA": _UNSEEN,
    "FP_OMITTED+HOLDING+UNKEPT": _UNSEEN,
    "LEAF_RECORD+LINKED": _UNSEEN,
    "FAR+FP_FOR_LOCALS": _NO_CONSTANT,
    "FAR+LINKED+REALIGNED": _NO_CONSTANT,
    "FAR+LINKED+LINK_LIVE": _NO_CONSTANT,
    "DISTANT+HOLDING": _NO_CONSTANT,
    "LINKED+BEHIND_LABEL": _NO_CONSTANT,
    "LINKED+BEHIND_LABEL+LINK_STALE": _NO_CONSTANT,
    "LINKED+CHANGED+SECOND_ISA": _NOT_PUSHED,
    "FRAMELESS+CHANGED": _NOT_PUSHED,
    "FRAMELESS_CALLER+CHANGED+HOLDING": _NOT_PUSHED,
    "FRAMELESS_CALLER+INEXPRESSIBLE": _NOT_PUSHED,
    "CHANGED+HOLDING+UNKEPT": (
        "a function that keeps its return address in another register, and saves that one only: lr, which a call has "
        "changed, is shown as it is, so that the function is found again as its own caller, or none where lr is zero",
        _GUESSES,
    ),
    "NO_TABLE+BEHIND_LABEL": (
        "code without a symbol: what another function's code pushes, from the label before on, is taken for its own",
        _GUESSES,
    ),
    "FP_OMITTED+HOLDING": _ONE_PROLOGUE,
    "HOLDING+SETS_FP_LATE": _ONE_PROLOGUE,
    "CHANGED": (
        "amd64's analyser finds rbp and the return address; every other register is shown as it is now",
        _AMD64,
    ),
    "ROOT": (
        "nothing in start code says that it has no caller: its link register is shown as it is, so that the frame is "
        "the same again, and the walk stops there",
        "https://github.com/adamgreen/CrashCatcher/issues/8",
    ),
}
HOLDING = {"FRAMELESS+HOLDING": _UNSEEN, "FRAMELESS_CALLER+HOLDING": _UNSEEN}
HOLDING_ON_X86 = {"FRAMELESS+HOLDING": _ONE_PROLOGUE, "FRAMELESS_CALLER+HOLDING": _ONE_PROLOGUE}
