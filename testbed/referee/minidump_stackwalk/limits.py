"""What minidump-stackwalk cannot know, with symbols and without: it ends silently, so every mistake is a lie."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.contract.unwinder import Limit
from testbed.referee.symbolic.limits import AT_A_ROW, UNREAD
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_WALKER = "https://github.com/rust-minidump/rust-minidump"
_TEXT = "https://github.com/google/breakpad/blob/main/docs/symbol_files.md"
LINK = "https://github.com/rust-minidump/rust-minidump/issues/607"
_SCAN = "https://chromium.googlesource.com/breakpad/breakpad/+/refs/heads/main/docs/stack_walking.md"
_END = "https://github.com/kstenerud/KSCrash/issues/764"


_ARCHES = {(Trait.REALIGNED, _TEXT): frozenset({"x86_64"}), (Trait.FAR, _SCAN): frozenset({"arm32"})}


def _limits(told: Mapping[Trait, tuple[str, str, str]]) -> tuple[Limit, ...]:
    """Each fact: as which outcomes, their values in one string, it shows; why; and where that is written.

    What is about frame records holds where there is none; what is about rows that stay, where one should be gone.
    """
    return tuple(
        Limit(
            trait,
            frozenset(Outcome(value) for value in outcomes.split()),
            because,
            reference,
            _ARCHES.get((trait, reference)),
            frozenset(also),
        )
        for trait, (outcomes, because, reference) in told.items()
        for also in _also(trait, reference)
    )


def _also(trait: Trait, reference: str) -> tuple[tuple[Trait, ...], ...]:
    if trait is Trait.FP_OMITTED:
        return ((Trait.UNLINKED,), (Trait.REALIGNED,))
    return ((Trait.UNLINKED,),) if reference == LINK else AT_A_ROW.get(trait, ((),)) if reference == _TEXT else ((),)


_KEPT = (
    "the text keeps a register's rule where DWARF takes it back: the return address is read from a slot that no longer "
    "holds it"
)

WITH_SYMBOLS = _limits(
    {
        Trait.WRONG_TABLE: (
            "ended_early phantom skipped wrong",
            "the rules are believed: what comes out of a wrong one ends the walk, or is a frame",
            "https://github.com/llvm/llvm-project/issues/63598",
        ),
        Trait.NO_TABLE: (
            "ended_early skipped",
            "without a record the walker follows the frame pointer, which a function without a record of its own skips",
            _WALKER,
        ),
        Trait.NO_CODE: ("skipped", "code that is not there is in no module: its frame pointer is followed", _WALKER),
        Trait.SIGNAL: (
            "ended_early skipped wrong",
            "the text knows no signal frames: from the trampoline on frame pointers are followed or the stack scanned",
            _TEXT,
        ),
        Trait.OPEN_END: (
            "phantom",
            "start code's record does not say that it has no caller: what lies there is taken for a return address",
            _END,
        ),
        Trait.LOST_REGISTER: ("skipped", "the text leaves out that a register is lost: it counts as unchanged", _TEXT),
        Trait.REALIGNED: (
            "ended_early wrong",
            "the text leaves out rules that are expressions: the frame pointer counts as unchanged",
            _TEXT,
        ),
        Trait.INEXPRESSIBLE: (
            "ended_early phantom skipped wrong",
            "the text leaves out rules that are expressions: without one for the CFA or the return address the walker "
            "follows the frame pointer, or scans",
            _TEXT,
        ),
        Trait.FP_REUSED: ("ended_early", _KEPT, _TEXT),
        Trait.EPILOGUE: ("ended_early", _KEPT, _TEXT),
        Trait.FRAMELESS: ("ended_early", _KEPT, _TEXT),
    }
)

WITH_SYMBOLS = (
    Limit(
        Trait.SIGNED,
        frozenset({Outcome.ENDED_EARLY, Outcome.PHANTOM, Outcome.WRONG}),
        "the text does not say that a return address is signed; the walker guesses which bits are not of the address",
        _TEXT,
    ),
    Limit(
        Trait.WRONG_TABLE,
        frozenset({Outcome.PHANTOM}),
        "a wrong rule of a callee's is believed: from the SP that it makes the caller's return address is looked for",
        "https://github.com/llvm/llvm-project/issues/63598",
        frozenset({"arm64"}),
        inner=1,
    ),
    Limit(
        Trait.NO_TABLE,
        frozenset({Outcome.PHANTOM, Outcome.SKIPPED, Outcome.WRONG}),
        "of a caller that a scan has found for code without a record no register is known but pc and SP: where its own "
        "record needs another one, the stack is scanned again",
        _SCAN,
        inner=1,
    ),
    Limit(
        Trait.NO_TABLE,
        frozenset({Outcome.WRONG}),
        "a caller that the frame pointer leads to is given the SP behind the frame record, as if it lay at the end of "
        "the frame: where the compiler puts it at the beginning, the caller's own record counts from a wrong SP",
        _WALKER,
        frozenset({"arm64"}),
    ),
    Limit(
        Trait.ROOT,
        frozenset({Outcome.PHANTOM}),
        "a record without a return address is not taken for the end: the stack is scanned, and where a process begins, "
        "the address of its first instruction lies there (AT_ENTRY), which counts where a function ends in front of it",
        _SCAN,
        frozenset({"x86_64"}),
        frozenset({Trait.CODE_POINTER}),
    ),
    Limit(
        Trait.REALIGNED,
        frozenset({Outcome.ENDED_EARLY}),
        "the text leaves out rules that are expressions: a realigned frame's CFA is one, and counted from a frame "
        "pointer that a callee has saved by another",
        _TEXT,
        frozenset({"x86_64"}),
        frozenset({Trait.LINKED, Trait.FP_SET_LATE}),
    ),
    *WITH_SYMBOLS,
    UNREAD,  # without symbolic's text there is no symbol file
)

_ANY = "ended_early phantom skipped wrong"
WITHOUT_SYMBOLS = _limits(
    {
        Trait.PROLOGUE: (
            _ANY,
            "the function has linked no frame record yet: the chain starts at its caller's, and the link register is "
            "not looked at",
            LINK,
        ),
        Trait.EPILOGUE: (
            _ANY,
            "the function has given back its frame record: the chain starts at its caller's, and the link register is "
            "not looked at",
            LINK,
        ),
        Trait.FP_OMITTED: (
            _ANY,
            "the frame pointer is an ordinary register: where it leads nowhere the stack is scanned for what may be a "
            "return address",
            _SCAN,
        ),
        Trait.FP_REUSED: (_ANY, "the frame pointer holds something else, and is followed or given up", _SCAN),
        Trait.FRAMELESS: (_ANY, "a function without a frame record: the chain starts at its caller's", LINK),
        Trait.FRAMELESS_CALLER: (_ANY, "a caller without a frame record is not in the chain", LINK),
        Trait.SIGNAL: (
            "ended_early skipped wrong",
            "a signal's handler links its record to what the interrupted code had for a frame pointer",
            "https://github.com/libunwind/libunwind/issues/1061",
        ),
        Trait.OTHER_STACK: (
            "ended_early phantom wrong",
            "the chain goes on on another stack, which is taken for damage: this one is scanned",
            "https://github.com/golang/go/issues/63630",
        ),
        Trait.OPEN_END: (
            "phantom",
            "nothing ends the chain or the scan: what lies there is taken for a return address",
            _END,
        ),
        Trait.LOST_REGISTER: (
            "phantom",
            "the frame pointer is already that of the frame that a jump will go to",
            "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
        ),
        Trait.REALIGNED: (
            "ended_early phantom",
            "a realigned frame has a copy of its return address: the chain, or a scan, finds it twice",
            "https://github.com/mstange/framehop/issues/48",
        ),
        Trait.LEFTOVER: ("phantom", "a scan finds the return address of a call that is over", _SCAN),
        Trait.FAR: (
            "ended_early",
            "40 words are scanned, of a frame further in 160: a return address that lies behind them is not found",
            _SCAN,
        ),
        Trait.CODE_POINTER: ("phantom", "a scan finds an address of code that is no return address", _SCAN),
    }
)


WITHOUT_SYMBOLS = (
    *WITHOUT_SYMBOLS,
    Limit(
        Trait.LINKED,
        frozenset({Outcome.PHANTOM, Outcome.WRONG}),
        "on 32-bit ARM no frame pointer is followed but on iOS: the stack is scanned; any address in a module counts",
        _SCAN,
        frozenset({"arm32"}),
    ),
    Limit(
        Trait.FP_FOR_LOCALS,
        frozenset({Outcome.SKIPPED}),
        "on 32-bit ARM no frame pointer is followed but on iOS: the stack is scanned; one return address is missed",
        _SCAN,
        frozenset({"arm32"}),
    ),
    Limit(
        Trait.SECOND_ISA,
        frozenset({Outcome.ENDED_EARLY, Outcome.PHANTOM}),
        "Thumb code chains frames through r7, and r11 is followed",
        "https://github.com/rust-minidump/rust-minidump/issues/460",
        frozenset({"arm32"}),
    ),
)
