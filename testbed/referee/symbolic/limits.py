"""What STACK CFI text cannot say, and what symbolic leaves out of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Limit
from testbed.referee.limits import llvm_arm
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_TEXT = "https://github.com/google/breakpad/blob/main/docs/symbol_files.md"
_SOURCE = "https://github.com/getsentry/symbolic"
_RESTORED = (
    "symbolic writes nothing where a register's rule is gone again (DW_CFA_restore, DW_CFA_restore_state): the rule "
    "that was, stays, and reads a slot that is no longer the register's"
)

# Why, by trait, and where it is written.
_BECAUSE: Mapping[Trait, tuple[str, str]] = MappingProxyType(
    {
        Trait.WRONG_TABLE: (
            "the text says what the table says: where that is wrong, so is this",
            "https://github.com/llvm/llvm-project/issues/63598",
        ),
        Trait.NO_TABLE: (
            "no table covers this code, so no record does",
            "https://github.com/openssl/openssl/issues/8853",
        ),
        Trait.NO_CODE: (
            "where a null pointer leads there is no record",
            "https://github.com/libunwind/libunwind/issues/106",
        ),
        Trait.SIGNAL: (
            "the text does not say which functions are signal trampolines, and their rules are expressions, which "
            "symbolic leaves out: no record covers the trampoline, or one without a return address",
            _TEXT,
        ),
        Trait.OPEN_END: (
            "start code's record does not say that it has no caller: what lies there is taken for a return address",
            "https://github.com/kstenerud/KSCrash/issues/764",
        ),
        Trait.LOST_REGISTER: (
            "symbolic writes nothing for DW_CFA_undefined, and no rule means that the register is unchanged",
            _SOURCE,
        ),
        Trait.REALIGNED: (
            "symbolic writes nothing for a rule that is an expression, and no rule means that the register is "
            "unchanged; nor does the text's CFA follow",
            _SOURCE,
        ),
        Trait.INEXPRESSIBLE: (
            "symbolic writes nothing for a rule that is an expression, and no rule means that the register is "
            "unchanged, or for the return address that there is none",
            _SOURCE,
        ),
        Trait.TAKEN_BACK: (
            "symbolic writes nothing where a register's rule is gone again (DW_CFA_restore, DW_CFA_undefined): what "
            "the text said before stays, and reads another slot, or a register of which nothing is known",
            _SOURCE,
        ),
        Trait.EPILOGUE: (_RESTORED, _SOURCE),
        Trait.FRAMELESS: (_RESTORED, _SOURCE),
        Trait.PROLOGUE: (
            "LLVM's ARM back end writes one row for a frame that takes two instructions to allocate, after the second",
            "https://github.com/llvm/llvm-project/blob/main/llvm/lib/Target/ARM/ARMFrameLowering.cpp",
        ),
    }
)


# A row that was not taken back, or not written, is another's where the frame that it tells of is not there: on this
# path there is none, or the path that has one was not run. A register is lost where it has been changed. A rule that is
# left out matters where FP leads to no record of the frame, or the stack does not hold its return address.
AT_A_ROW: Mapping[Trait, tuple[tuple[Trait, ...], ...]] = MappingProxyType(
    {
        Trait.EPILOGUE: ((Trait.FRAME_ELSEWHERE,),),
        Trait.PROLOGUE: ((Trait.ALLOCATED_IN_PART,),),
        Trait.LOST_REGISTER: ((Trait.CHANGED_INSIDE,),),
        Trait.INEXPRESSIBLE: ((Trait.UNLINKED,), (Trait.UNKEPT,)),
        Trait.REALIGNED: ((Trait.APART,), (Trait.COPIED,)),
        Trait.FRAMELESS: ((Trait.PASSED_OVER,), (Trait.KEPT_ELSEWHERE, Trait.RETURN_SAVED)),
    }
)


# Frames that are realigned have rules that are expressions on x86 only.
_ARCHES: Mapping[Trait, frozenset[str]] = MappingProxyType({Trait.REALIGNED: frozenset({"x86_64"})})


def _outcomes(values: str) -> frozenset[Outcome]:
    return frozenset(Outcome(value) for value in values.split())


def _limits(shown: Mapping[Trait, str], said: Collection[tuple[Trait, ...]] = ()) -> tuple[Limit, ...]:
    """``shown``: as which outcomes, in one string, each fact shows; ``said``: pairs that have a limit of their own."""
    return tuple(
        Limit(trait, _outcomes(outcomes), *_BECAUSE[trait], _ARCHES.get(trait), frozenset(also))
        for trait, outcomes in shown.items()
        for also in AT_A_ROW.get(trait, ((),))
        if (trait, *also) not in said
    )


EH_FRAME = _limits(
    {
        Trait.WRONG_TABLE: "ended_early phantom skipped stopped wrong wrong_register",
        Trait.NO_TABLE: "ended_early refused stopped",
        Trait.NO_CODE: "refused stopped",
        Trait.SIGNAL: "refused stopped",
        Trait.TAKEN_BACK: "stopped wrong_register",  # says more than that the end is open
        Trait.OPEN_END: "phantom stopped",
        Trait.LOST_REGISTER: "skipped",
        Trait.REALIGNED: "ended_early refused stopped wrong wrong_register",
        Trait.INEXPRESSIBLE: "ended_early refused skipped wrong",
        Trait.EPILOGUE: "ended_early wrong_register",
        Trait.FRAMELESS: "ended_early skipped wrong wrong_register",
    },
    said=((Trait.REALIGNED, Trait.COPIED),),  # only who scans the stack finds the copy
)
_B_KEY = (
    "symbolic reads the tables of a file as one: a CIE with the augmentation B, which says that return addresses are "
    "signed with the B key, is an error, and there is no text at all"
)
_AADWARF = "https://github.com/ARM-software/abi-aa/blob/main/aadwarf64/aadwarf64.rst"
UNREAD = Limit(Trait.B_KEY, frozenset({Outcome.REFUSED, Outcome.STOPPED}), _B_KEY, _AADWARF, frozenset({"arm64"}))
EH_FRAME = (
    Limit(
        Trait.SIGNED,
        frozenset({Outcome.STOPPED, Outcome.WRONG, Outcome.WRONG_REGISTER}),
        "the text does not say that a return address is signed: it is taken for an address as it is",
        _TEXT,
    ),
    Limit(
        Trait.MOVED_UP,
        frozenset({Outcome.STOPPED}),
        "as in Breakpad's walk, a CFA that is not above SP is taken for damage: a function that has moved its return "
        "address up, into its caller's frame, has such a one",
        _TEXT,
        frozenset({"x86_64", "arm64"}),
    ),
    *EH_FRAME,
    UNREAD,
)
DEBUG_FRAME = (
    *llvm_arm(
        {
            "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": "ended_early refused skipped wrong",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE": "ended_early skipped wrong wrong_register",
            "NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE": "skipped",
            "NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER": "ended_early refused skipped wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART": "ended_early skipped wrong",
            "FP_MOVED_IN_PART": "ended_early wrong_register",
            "GIVEN_BACK_IN_PART": "ended_early wrong wrong_register",
        }
    ),
    *_limits(
        {
            Trait.WRONG_TABLE: "ended_early skipped stopped wrong wrong_register",
            Trait.NO_TABLE: "ended_early refused stopped",
            Trait.NO_CODE: "ended_early refused",
            Trait.SIGNAL: "ended_early",
            Trait.OPEN_END: "phantom stopped",
            Trait.LOST_REGISTER: "skipped",
            Trait.INEXPRESSIBLE: "ended_early",
            Trait.EPILOGUE: "ended_early skipped wrong wrong_register",
            Trait.PROLOGUE: "ended_early",
            Trait.FRAMELESS: "ended_early wrong",
        },
        said=((Trait.FRAMELESS, Trait.PASSED_OVER),),
    ),
    Limit(
        Trait.FRAMELESS,
        frozenset({Outcome.ENDED_EARLY}),
        *_BECAUSE[Trait.FRAMELESS],
        frozenset({"arm32"}),
        frozenset({Trait.PASSED_OVER}),
    ),
    Limit(
        Trait.EPILOGUE,
        frozenset({Outcome.REFUSED}),
        "GCC writes one row for a frame that several instructions give back: between them it is another's",
        _SOURCE,
        frozenset({"arm32"}),
    ),
    Limit(
        Trait.MOVED_UP,
        frozenset({Outcome.REFUSED, Outcome.STOPPED}),
        "a frame whose CFA lies below SP, since it has moved SP up, is taken for no progress, as Breakpad's walkers do",
        _TEXT,
        frozenset({"arm32"}),
    ),
)

_CALLS_ONLY = "https://github.com/dotnet/runtime/pull/88724"
INDIRECT = Limit(
    Trait.FP_OMITTED,
    frozenset({Outcome.ENDED_EARLY, Outcome.WRONG}),
    "of a frame too large for the encoding, whose size is in the function's own instruction "
    "(UNWIND_X86_64_MODE_STACK_IND), symbolic writes the size zero",
    _SOURCE,
    frozenset({"x86_64"}),
    frozenset({Trait.FAR}),
)
_FINISHED = "the one encoding of a function describes its finished frame, and so does the one record made of it"
COMPACT = (
    *limits_of(
        """
        PROLOGUE+FP_LEADS+UNLINKED   x86_64  ended_early skipped wrong
        PROLOGUE+UNLINKED            x86_64  refused
        PROLOGUE+UNLINKED            arm64   refused skipped wrong_register
        PROLOGUE+LINKED+UNSAVED      x86_64  wrong_register
        EPILOGUE+CFA_MOVED+UNLINKED  x86_64  ended_early refused skipped wrong
        EPILOGUE+UNLINKED            arm64   refused skipped wrong_register
        FRAMELESS+CHANGED            arm64   wrong_register
        """,
        {
            **{
                f"{where}+UNLINKED": (_FINISHED, _CALLS_ONLY)
                for where in ("PROLOGUE", "PROLOGUE+FP_LEADS", "EPILOGUE", "EPILOGUE+CFA_MOVED")
            },
            "PROLOGUE+LINKED+UNSAVED": (f"{_FINISHED}: registers are read from places that are empty yet", _CALLS_ONLY),
            "FRAMELESS+CHANGED": (
                "of the registers that a frameless function saves its record says nothing, and no rule means that a "
                "register is unchanged",
                _SOURCE,
            ),
        },
    ),
    INDIRECT,
)
