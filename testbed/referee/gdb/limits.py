"""What gdb cannot know, by mode: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from collections.abc import Iterable

from testbed.contract.unwinder import Limit
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_GUESSES = "https://sourceware.org/pipermail/gdb/2020-June/048755.html"
_AMD64 = "https://gnu.googlesource.com/binutils-gdb/+/f9aa48dc545ef511e19f4dfab88a196b820fd2da"
_EPILOGUES = (
    "https://review.tizen.org/git/?a=commit&h=779aa56f2c160ef508ca98fac1ffd23cad6fc63f&p=external%2Fbinutils.git"
)
_SAME = "https://github.com/adamgreen/CrashCatcher/issues/8"
_LLVM_ARM = "https://github.com/llvm/llvm-project/blob/main/llvm/lib/Target/ARM/ARMFrameLowering.cpp"
_ENDS = "https://github.com/kstenerud/KSCrash/issues/764"
_NO_END = (
    "nothing in start code says that it has no caller: its link register is shown as it is, so that the frame is the "
    "same again, and the walk stops there"
)
_X86 = frozenset({"x86_64"})
_ARM64 = frozenset({"arm64"})
_ARMS = frozenset({"arm64", "arm32"})
_ARM32 = frozenset({"arm32"})


def _limit(trait: Trait, outcomes: str, because: str, reference: str, arches: Iterable[str] | None = None) -> Limit:
    """``outcomes`` are the outcomes' values in one string."""
    shown = frozenset(Outcome(value) for value in outcomes.split())
    return Limit(trait, shown, because, reference, None if arches is None else frozenset(arches))


_OPEN_END = _limit(
    Trait.OPEN_END,
    "phantom stopped",
    "nothing says that the start code has no caller: what lies there is taken for a return address, or a frame that "
    "is the same again stops the walk",
    _ENDS,
)
_NO_CODE = _limit(
    Trait.NO_CODE,
    "skipped",
    "a frame whose pc is zero ends the stack; one that a signal interrupted there is found, but not its caller",
    "https://github.com/libunwind/libunwind/issues/106",
)

WITH_TABLES = (
    _limit(
        Trait.WRONG_TABLE,
        "ended_early phantom skipped wrong wrong_register",
        "a table is believed, not checked: where its row is wrong, so are the CFA and what is read from it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    _limit(
        Trait.NO_TABLE,
        "ended_early phantom refused skipped wrong wrong_register",
        "code that nobody wrote a table for: gdb's analyser of prologues takes over and guesses",
        _GUESSES,
    ),
    _limit(
        Trait.SYNCHRONOUS,
        "ended_early skipped wrong_register",
        "a table that was made for exceptions is right at calls only: at other instructions its row may be another's",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    _NO_CODE,
    _limit(
        Trait.LOST_REGISTER,
        "refused",
        "the table says that a caller's register cannot be had any more, and the caller's row needs it",
        "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
    ),
    _OPEN_END,
    _limit(
        Trait.EPILOGUE,
        "ended_early skipped wrong wrong_register",
        "LLVM's ARM back end writes call frame information in the prologue only: from the first instruction of an "
        "epilogue on, the row still describes the whole frame",
        _LLVM_ARM,
        _ARM32,
    ),
    _limit(
        Trait.PROLOGUE,
        "ended_early",
        "LLVM's ARM back end writes one row for a frame that takes two instructions to allocate, after the second",
        _LLVM_ARM,
        _ARM32,
    ),
    _limit(
        Trait.FRAMELESS,
        "ended_early wrong",
        "LLVM's ARM back end writes call frame information in the prologue only: behind an epilogue in mid-function, "
        "the row describes a frame that is gone",
        _LLVM_ARM,
        _ARM32,
    ),
    _limit(
        Trait.REALIGNED,
        "wrong_register",
        "GCC keeps the registers of a realigned frame relative to the frame pointer, and writes no row where its "
        "unoptimised epilogue has popped that one",
        "https://github.com/libunwind/libunwind/issues/43",
        _X86,
    ),
    _limit(
        Trait.CODE_POINTER,
        "phantom wrong",
        "at a ret gdb believes that nothing is left of the frame but the return address, and asks no table: of a ret "
        "that jumps to an address just pushed, that is not so",
        "https://github.com/rr-debugger/rr/pull/2781",
        _X86,
    ),
)

_ANALYSIS = "an analyser reads a function's instructions from its symbol on, up to pc"


def analysed(
    *, other_stack: str, lost: str, split: str, signal: str, epilogue: str, reused: str, prologue: str, frameless: str
) -> tuple[Limit, ...]:
    """The limits of gdb's analysers on ARM's architectures, where they come in; with the outcomes of each."""
    return (
        _limit(Trait.ROOT, "stopped", _NO_END, _SAME, _ARMS),
        _limit(Trait.CALLED, "stopped", _NO_END, _SAME, _ARMS),
        *_beyond_analysis(other_stack, lost, split, signal),
        _limit(
            Trait.EPILOGUE,
            epilogue,
            f"{_ANALYSIS} whatever branches there are: in an epilogue it still sees the frame that is gone by then",
            _EPILOGUES,
            _ARMS,
        ),
        _limit(
            Trait.FP_REUSED,
            reused,
            f"{_ANALYSIS}, and stops at one that it does not know: registers that are saved after that are shown as "
            "they are now",
            _GUESSES,
            _ARMS,
        ),
        _limit(
            Trait.PROLOGUE,
            prologue,
            f"{_ANALYSIS}, and stops at one that it does not know: what is allocated after that is not counted",
            _GUESSES,
            _ARMS,
        ),
        _limit(
            Trait.FRAMELESS,
            frameless,
            f"{_ANALYSIS}, and stops at one that it does not know: a function without a frame pointer that moves SP "
            "after that, or more than once, is taken for one with less of a frame",
            _GUESSES,
            _ARMS,
        ),
        _limit(
            Trait.NO_RECORD,
            "wrong_register",
            "the epilogue unwinder knows what an epilogue's instructions look like, and takes r7's pop for one that it "
            "has behind it",
            _EPILOGUES,
            _ARM32,
        ),
        _limit(
            Trait.FP_OMITTED,
            "ended_early",
            "a prologue that moves SP by a register or aligns it: its frame's size is no constant",
            _GUESSES,
            _ARM32,
        ),
        _limit(
            Trait.CALLED,
            "ended_early",
            "a prologue that moves SP by a register or aligns it: its frame's size is no constant",
            _GUESSES,
            _ARM32,
        ),
    )


def _beyond_analysis(other_stack: str, lost: str, split: str, signal: str) -> tuple[Limit, ...]:
    """What no analysis of a function's first instructions can know."""
    return (
        _limit(
            Trait.OTHER_STACK,
            other_stack,
            "a coroutine's first function was entered by a switch of stacks and by no call: what its instructions take "
            "for the return address is whatever lies there",
            "https://github.com/tarantool/tarantool/issues/6889",
        ),
        _limit(
            Trait.LOST_REGISTER,
            lost,
            "the frame's registers are already those of the place that a jump goes to",
            "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
        ),
        _limit(
            Trait.SPLIT_FUNCTION,
            split,
            "a symbol is taken for a function that is entered by a call, with nothing on the stack yet: a part of one "
            "that is jumped to has a frame already",
            "https://github.com/llvm/llvm-project/issues/125299",
        ),
        _limit(
            Trait.SIGNAL,
            signal,
            "a signal interrupts a function anywhere: before the frame that the analyser finds is there, or after it; "
            "a trampoline that is not as Linux writes it is taken for a function",
            _GUESSES,
        ),
    )


WITH_EHABI = (
    *analysed(
        other_stack="ended_early phantom wrong wrong_register",
        lost="phantom skipped wrong wrong_register",
        split="phantom skipped wrong wrong_register",
        signal="skipped wrong_register",
        epilogue="ended_early refused skipped wrong wrong_register",
        reused="ended_early wrong wrong_register",
        prologue="ended_early skipped wrong wrong_register",
        frameless="ended_early skipped wrong wrong_register",
    ),
)

WITHOUT_TABLES = (
    _limit(
        Trait.NO_CODE,
        "ended_early skipped",
        "a frame whose pc is zero ends the stack; one that a signal interrupted there is found, but not its caller",
        "https://github.com/libunwind/libunwind/issues/106",
    ),
    *analysed(
        other_stack="ended_early phantom refused skipped wrong wrong_register",
        lost="ended_early refused skipped wrong wrong_register",
        split="ended_early phantom refused skipped wrong wrong_register",
        signal="ended_early skipped wrong wrong_register",
        epilogue="ended_early phantom refused skipped wrong wrong_register",
        reused="ended_early wrong wrong_register",
        prologue="ended_early refused wrong wrong_register",
        frameless="ended_early skipped wrong wrong_register",
    ),
    _limit(
        Trait.FP_OMITTED,
        "ended_early phantom wrong",
        "amd64's analyser knows one prologue, push rbp; mov rbp, rsp: without it the frame pointer is taken for the "
        "caller's, or SP for unchanged since the entry",
        _AMD64,
        _X86,
    ),
    _limit(
        Trait.FRAMELESS,
        "ended_early phantom wrong wrong_register",
        "a function that does not set rbp: SP is taken for what it was at its entry, or the caller's rbp for its own",
        _AMD64,
        _X86,
    ),
    _limit(
        Trait.PROLOGUE,
        "wrong wrong_register",
        "before rbp is set, pushes that amd64's analyser does not know are not counted",
        _AMD64,
        _X86,
    ),
    _limit(
        Trait.EPILOGUE,
        "ended_early skipped wrong wrong_register",
        "once rbp is popped it is the caller's, and its frame is taken for this one's",
        _AMD64,
        _X86,
    ),
    _limit(
        Trait.FP_REUSED,
        "wrong",
        "rbp holds something else than a frame: what it points at is taken for one",
        _AMD64,
        _X86,
    ),
    _limit(
        Trait.CALLED,
        "ended_early phantom wrong wrong_register",
        "amd64's analyser knows push rbp; mov rbp, rsp as a function's first instructions; GCC puts others between. "
        "Where it knows them it finds rbp and the return address; every other register is shown as it is now",
        _AMD64,
        _X86,
    ),
    _limit(
        Trait.CALLED,
        "wrong_register",
        "AArch64's analyser stops at the first instruction that it does not know: a frame pointer that is set after it "
        "is not seen",
        _GUESSES,
        _ARM64,
    ),
    _limit(
        Trait.LEAF_RECORD,
        "ended_early phantom",
        "a leaf's record has the frame pointer alone, and its return address is in the link register still; the "
        "analyser takes the record for a whole one",
        _GUESSES,
        _ARM64,
    ),
)
