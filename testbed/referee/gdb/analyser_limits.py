"""What gdb cannot know where its analysers of prologues come in: beside EHABI tables only, or without any table."""

from __future__ import annotations

from dataclasses import replace

from testbed.contract.unwinder import Limit
from testbed.referee.limits import limit
from testbed.words.traits import Trait

_GUESSES = "https://sourceware.org/pipermail/gdb/2020-June/048755.html"
_AMD64 = "https://gnu.googlesource.com/binutils-gdb/+/f9aa48dc545ef511e19f4dfab88a196b820fd2da"
_EPILOGUES = (
    "https://review.tizen.org/git/?a=commit&h=779aa56f2c160ef508ca98fac1ffd23cad6fc63f&p=external%2Fbinutils.git"
)
_SAME = "https://github.com/adamgreen/CrashCatcher/issues/8"
_NO_END = (
    "nothing in start code says that it has no caller: its link register is shown as it is, so that the frame is the "
    "same again, and the walk stops there"
)
_X86 = frozenset({"x86_64"})
_ARM64 = frozenset({"arm64"})
_ARMS = frozenset({"arm64", "arm32"})
_ARM32 = frozenset({"arm32"})

_NO_CONSTANT = "a prologue that moves SP by a register or aligns it: its frame's size is no constant"
_ANALYSIS = "an analyser reads a function's instructions from its symbol on, up to pc"


_ELSEWHERE = (
    *(
        limit(
            trait,
            outcomes,
            f"{_ANALYSIS}, and stops at one that it does not know: the frame, and the registers in it, are not seen",
            _GUESSES,
            _ARM32,
            *also,
        )
        for trait, outcomes, also in (
            (Trait.LINKED, "phantom refused wrong wrong_register", (Trait.FP_SET_LATE,)),
            (Trait.LINKED, "phantom wrong_register", (Trait.CHANGED,)),
            (Trait.FRAMELESS_CALLER, "wrong wrong_register", (Trait.UNLINKED, Trait.CHANGED)),
        )
    ),
    limit(
        Trait.BEHIND_LABEL,
        "ended_early",
        f"{_ANALYSIS}; a symbol inside a function is another function's beginning, which has no prologue",
        _GUESSES,
        _ARM32,
        Trait.LINKED,
    ),
    limit(
        Trait.MOVED_UP,
        "phantom",
        "a function that has moved its return address up, and SP with it: the analyser still sees the frame that "
        "it had before",
        _GUESSES,
        _ARMS,
    ),
)


def _analysed(
    *, other_stack: str, lost: str, split: str, signal: str, epilogue: str, reused: str, prologue: str, frameless: str
) -> tuple[Limit, ...]:
    """The limits of gdb's analysers on ARM's architectures, where they come in; with the outcomes of each."""
    return (
        limit(Trait.ROOT, "stopped", _NO_END, _SAME, _ARMS),
        limit(Trait.CALLED, "stopped", _NO_END, _SAME, _ARMS),
        *_beyond_analysis(other_stack, lost, split, signal),
        limit(
            Trait.EPILOGUE,
            epilogue,
            f"{_ANALYSIS} whatever branches there are: in an epilogue it still sees the frame that is gone by then",
            _EPILOGUES,
            _ARMS,
        ),
        limit(
            Trait.FP_REUSED,
            reused,
            f"{_ANALYSIS}, and stops at one that it does not know: registers that are saved after that are shown as "
            "they are now",
            _GUESSES,
            _ARMS,
        ),
        limit(
            Trait.PROLOGUE,
            prologue,
            f"{_ANALYSIS}, and stops at one that it does not know: what is allocated after that is not counted",
            _GUESSES,
            _ARMS,
        ),
        limit(
            Trait.FRAMELESS,
            frameless,
            f"{_ANALYSIS}, and stops at one that it does not know: a function without a frame pointer that moves SP "
            "after that, or more than once, is taken for one with less of a frame",
            _GUESSES,
            _ARMS,
        ),
        limit(
            Trait.NO_RECORD,
            "wrong_register",
            "the epilogue unwinder knows what an epilogue's instructions look like, and takes r7's pop for one that it "
            "has behind it",
            _EPILOGUES,
            _ARM32,
        ),
        limit(Trait.FP_OMITTED, "ended_early", _NO_CONSTANT, _GUESSES, _ARM32),
        *(
            limit(trait, "ended_early", _NO_CONSTANT, _GUESSES, _ARM32, *also)
            for trait, also in ((Trait.FAR, ()), (Trait.REALIGNED, (Trait.LINKED,)), (Trait.MOVED_UP, ()))
        ),
        *_ELSEWHERE,
    )


def _beyond_analysis(other_stack: str, lost: str, split: str, signal: str) -> tuple[Limit, ...]:
    """What no analysis of a function's first instructions can know."""
    return (
        limit(
            Trait.OTHER_STACK,
            other_stack,
            "a coroutine's first function was entered by a switch of stacks and by no call: what its instructions take "
            "for the return address is whatever lies there",
            "https://github.com/tarantool/tarantool/issues/6889",
        ),
        limit(
            Trait.LOST_REGISTER,
            lost,
            "the frame's registers are already those of the place that a jump goes to",
            "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
        ),
        limit(
            Trait.SPLIT_FUNCTION,
            split,
            "a symbol is taken for a function that is entered by a call, with nothing on the stack yet: a part of one "
            "that is jumped to has a frame already",
            "https://github.com/llvm/llvm-project/issues/125299",
        ),
        limit(
            Trait.SIGNAL,
            signal,
            "a signal interrupts a function anywhere: before the frame that the analyser finds is there, or after it; "
            "a trampoline that is not as Linux writes it is taken for a function",
            _GUESSES,
        ),
    )


WITH_EHABI = (
    *_analysed(
        other_stack="ended_early phantom wrong wrong_register",
        lost="phantom skipped wrong wrong_register",
        split="phantom skipped wrong wrong_register",
        signal="skipped wrong wrong_register",
        epilogue="ended_early refused skipped wrong wrong_register",
        reused="ended_early wrong wrong_register",
        prologue="ended_early skipped wrong wrong_register",
        frameless="ended_early skipped wrong wrong_register",
    ),
)

_LATE = limit(
    Trait.LINKED,
    "ended_early wrong",
    "amd64's analyser knows push rbp; mov rbp, rsp as a function's first instructions; where GCC puts another one "
    "between, SP is taken for unchanged since the push",
    _AMD64,
    _X86,
    Trait.FP_SET_LATE,
)
WITHOUT_TABLES = (
    limit(
        Trait.NO_CODE,
        "ended_early skipped",
        "a frame whose pc is zero ends the stack; one that a signal interrupted there is found, but not its caller",
        "https://github.com/libunwind/libunwind/issues/106",
    ),
    *_analysed(
        other_stack="ended_early phantom refused skipped wrong wrong_register",
        lost="ended_early refused skipped wrong wrong_register",
        split="ended_early phantom refused skipped wrong wrong_register",
        signal="ended_early skipped wrong wrong_register",
        epilogue="ended_early phantom refused skipped wrong wrong_register",
        reused="ended_early wrong wrong_register",
        prologue="ended_early refused wrong wrong_register",
        frameless="ended_early skipped wrong wrong_register",
    ),
    *(
        limit(
            Trait.FP_OMITTED,
            "ended_early phantom skipped wrong",
            "amd64's analyser knows one prologue, push rbp; mov rbp, rsp: without it the frame pointer is taken for "
            "the caller's, or SP for unchanged since the entry",
            _AMD64,
            _X86,
            also,
        )
        for also in (Trait.UNLINKED, Trait.REALIGNED)
    ),
    limit(
        Trait.FRAMELESS,
        "ended_early phantom wrong wrong_register",
        "a function that does not set rbp: SP is taken for what it was at its entry, or the caller's rbp for its own",
        _AMD64,
        _X86,
    ),
    limit(
        Trait.PROLOGUE,
        "ended_early phantom wrong wrong_register",
        "before rbp is set, pushes that amd64's analyser does not know are not counted",
        _AMD64,
        _X86,
    ),
    limit(
        Trait.EPILOGUE,
        "ended_early phantom skipped wrong wrong_register",
        "once rbp is popped it is the caller's, and its frame is taken for this one's",
        _AMD64,
        _X86,
    ),
    limit(
        Trait.FP_REUSED,
        "ended_early wrong",
        "rbp holds something else than a frame: what it points at is taken for one",
        _AMD64,
        _X86,
    ),
    *(
        limit(
            Trait.FRAMELESS_CALLER,
            outcome,
            "a caller that does not set rbp: the rbp that it was entered with is taken for its own",
            _AMD64,
            _X86,
            Trait.UNLINKED,
            also,
        )
        for outcome, also in (("ended_early", Trait.HANDLER), ("wrong", Trait.CHANGED))
    ),
    limit(
        Trait.CHANGED,
        "phantom wrong wrong_register",
        "amd64's analyser finds rbp and the return address; every other register is shown as it is now",
        _AMD64,
        _X86,
        Trait.LINKED,
    ),
    limit(
        Trait.BEHIND_LABEL,
        "ended_early phantom wrong wrong_register",
        "amd64's analyser knows push rbp; mov rbp, rsp as a function's first instructions; GCC puts others between, "
        "and a symbol inside a function is another function's beginning",
        _AMD64,
        _X86,
    ),
    _LATE,
    replace(_LATE, inner=-1),
    limit(
        Trait.LINKED,
        "ended_early phantom wrong",
        "AArch64's analyser stops at the first instruction that it does not know: a frame pointer that is set after it "
        "is not seen",
        _GUESSES,
        _ARM64,
        Trait.FP_SET_LATE,
    ),
    limit(
        Trait.LINKED,
        "wrong_register",
        "AArch64's analyser stops at the first instruction that it does not know: a frame pointer that is set after it "
        "is not seen",
        _GUESSES,
        _ARM64,
    ),
    limit(
        Trait.FRAMELESS_CALLER,
        "ended_early wrong wrong_register",
        "AArch64's analyser stops at the first instruction that it does not know: a frame that is made after it, and "
        "the registers in it, are not seen",
        _GUESSES,
        _ARM64,
        Trait.UNLINKED,
    ),
    limit(
        Trait.LEAF_RECORD,
        "ended_early phantom",
        "a leaf's record has the frame pointer alone, and its return address is in the link register still; the "
        "analyser takes the record for a whole one",
        _GUESSES,
        _ARM64,
    ),
)
