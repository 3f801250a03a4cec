"""What minidump-stackwalk cannot know, with symbols and without: it ends silently, so every mistake is a lie."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Limit
from testbed.referee.symbolic.limits import AT_A_ROW, UNREAD
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_WALKER = "https://github.com/rust-minidump/rust-minidump"
_TEXT = "https://github.com/google/breakpad/blob/main/docs/symbol_files.md"
LINK = "https://github.com/rust-minidump/rust-minidump/issues/607"
_SCAN = "https://chromium.googlesource.com/breakpad/breakpad/+/refs/heads/main/docs/stack_walking.md"
_END = "https://github.com/kstenerud/KSCrash/issues/764"


_ARCHES = {
    (Trait.REALIGNED, _TEXT): frozenset({"x86_64"}),
    **{(trait, _TEXT): frozenset({"arm64"}) for trait in (Trait.EPILOGUE, Trait.FRAMELESS)},
}


def _limits(told: Mapping[Trait, tuple[str, str, str]]) -> tuple[Limit, ...]:
    """Each fact: as which outcomes, their values in one string, it shows; why; and where that is written.

    What is about rows that stay holds where one should be gone.
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
    return AT_A_ROW.get(trait, ((),)) if reference == _TEXT else ((),)


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
    *(
        Limit(
            Trait.ROOT,
            frozenset({Outcome.PHANTOM}),
            "a record without a return address is not taken for the end: the stack is scanned, and what lies there is "
            f"taken for a return address: {what}",
            _SCAN,
            frozenset({"x86_64"}),
            frozenset({trait}),
        )
        for trait, what in (
            (
                Trait.CODE_POINTER,
                "where a process begins, the address of its first instruction (AT_ENTRY), which counts where a "
                "function ends in front of it",
            ),
            (Trait.LEFTOVER, "that of a call that is over"),
        )
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

_NOT_THERE = (
    "the stack is scanned for an address that a module covers, and this caller's is not on it, or not in its place: "
    "another one is taken, or none",
    _SCAN,
)
_TAKEN = "a scan takes the first word that may be a return address, one that a module covers: here "
_SKIPPED = (
    "the frame pointer leads to the record of an activation further out: that one is taken for the caller, and what "
    "the link register holds is not looked at",
    LINK,
)
WITHOUT_SYMBOLS = limits_of(
    """
    RECORD_REPLACED     arm64   wrong
    RECORD_REPLACED<-1  x86_64  wrong
    SIGNAL             x86_64  ended_early skipped
    SIGNAL             arm64   skipped wrong
    SIGNAL             arm32   ended_early wrong
    LINKED_FURTHER_ON  x86_64  ended_early skipped wrong
    LINKED_FURTHER     arm64   ended_early skipped wrong
    UNKEPT             x86_64  ended_early
    UNKEPT             arm64   ended_early skipped wrong
    UNKEPT             arm32   ended_early skipped wrong
    LEFTOVER           x86_64  phantom
    LEFTOVER           arm64   phantom
    LEFTOVER           arm32   phantom wrong
    COPIED             x86_64  phantom wrong
    COPIED             arm64   phantom
    COPIED             arm32   phantom
    CODE_POINTER       x86_64  phantom
    CODE_POINTER       arm64   phantom
    CODE_POINTER       arm32   phantom wrong
    DATA_POINTER       x86_64  phantom
    DATA_POINTER       arm64   phantom
    DATA_POINTER       arm32   ended_early phantom wrong
    REALIGNED+APART    x86_64  phantom
    OTHER_STACK        arm32   phantom
    FAR+CALLED         x86_64  ended_early
    FAR+CALLED         arm64   ended_early
    FAR+CALLED         arm32   ended_early
    """,
    {
        **dict.fromkeys(
            ("RECORD_REPLACED", "RECORD_REPLACED<-1"),
            (
                "the frame pointer leads to a record that an unwinder has written over with the frame that it goes to: "
                "that one is taken for the caller",
                _WALKER,
            ),
        ),
        "SIGNAL": (
            "a signal's handler links its record to what the interrupted code had for a frame pointer, or the stack is "
            "scanned past the registers that the kernel saved there",
            "https://github.com/libunwind/libunwind/issues/1061",
        ),
        "LINKED_FURTHER": _SKIPPED,
        "LINKED_FURTHER_ON": (
            f"{_SKIPPED[0]}; that is so where the record leads on to another one: else the stack is scanned",
            _SKIPPED[1],
        ),
        "UNKEPT": _NOT_THERE,
        "LEFTOVER": (f"{_TAKEN}it is the return address of a call that is over", _SCAN),
        "COPIED": (f"{_TAKEN}it is a copy of the return address of an activation further out", _SCAN),
        "CODE_POINTER": (f"{_TAKEN}it is an address of code that is no return address", _SCAN),
        "DATA_POINTER": (f"{_TAKEN}it is an address of data", _SCAN),
        "REALIGNED+APART": (
            "a realigned frame has a copy of its return address: the chain finds that one, and a scan the other",
            "https://github.com/mstange/framehop/issues/48",
        ),
        "OTHER_STACK": (
            "the stack of a coroutine lies in the module's data: a scan of it takes an address of that stack for one "
            "of code",
            "https://github.com/golang/go/issues/63630",
        ),
        "FAR+CALLED": (
            "40 words are scanned, of a frame further in 160: a return address that lies behind them is not found",
            _SCAN,
        ),
    },
)
