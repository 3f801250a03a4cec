"""What the unwinders that profilers call cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from dataclasses import replace

from testbed.contract.unwinder import Limit
from testbed.referee.limits import GCC_REALIGNED, lost_pointer, put_by_handler
from testbed.referee.llvm_libunwind.limits import AFTER_LEAVE, BAD_REGISTER, ROW_BEFORE_ENTERED, ROW_BEFORE_STARTED
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_ANY = frozenset(Outcome) - {Outcome.EXACT, Outcome.HUNG}
_LIES = frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.PHANTOM, Outcome.WRONG_REGISTER, Outcome.WRONG})
_ARM = frozenset({"arm32"})
_CFI = frozenset({"x86_64", "arm64"})
_EHABI = "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#introduction-and-scope"

_UNDEFINED = lost_pointer(
    *(Outcome.SKIPPED, Outcome.WRONG_REGISTER, Outcome.CRASHED),
    because="a register that the table calls lost (DW_CFA_undefined) keeps the value that it had; here the frame "
    "pointer, from which the caller's CFA is counted",
    reference="https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/unwind-dw2.c",
    arches=_CFI,
)
_UNSAID = lost_pointer(
    *(Outcome.ENDED_EARLY, Outcome.SKIPPED),
    because="EHABI cannot say that a register is lost: the frame pointer, from which a CFA is counted, is that of the "
    "place to which a jump goes",
    reference=_EHABI,
    arches=_ARM,
)
LOST = (replace(_UNDEFINED, inner=1), _UNSAID, replace(_UNSAID, inner=1))
INDEX_BELIEVED = Limit(
    Trait.WRONG_INDEX,
    frozenset({Outcome.CRASHED, Outcome.ENDED_EARLY, Outcome.REFUSED, Outcome.SKIPPED, Outcome.WRONG_REGISTER}),
    "the sorted index is believed: it leads to another function's entry, or to no entry at all",
    "https://github.com/libunwind/libunwind/issues/41",
    _CFI,
)
NO_INDEX = Limit(
    Trait.NO_INDEX,
    frozenset({Outcome.ENDED_EARLY, Outcome.REFUSED, Outcome.STOPPED}),
    "a table without a search table (PT_GNU_EH_FRAME) is found only where start files register it, and these are not "
    "linked: no code has a row",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/crtstuff.c",
    _CFI,
)
BELIEVED = (
    replace(GCC_REALIGNED, inner=1),
    INDEX_BELIEVED,
    NO_INDEX,
    Limit(
        Trait.WRONG_TABLE,
        _ANY,
        "a table is believed, not checked: where its row is wrong, so are the CFA and what is read from it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    Limit(
        Trait.WRONG_TABLE,
        frozenset({Outcome.CRASHED}),
        "a wrong rule of the frame pointer is believed: where the caller's row counts from it, reading is the end",
        "https://github.com/llvm/llvm-project/issues/63598",
        frozenset({"x86_64"}),
        inner=1,
    ),
    Limit(
        Trait.NO_TABLE,
        _LIES | {Outcome.REFUSED, Outcome.STOPPED, Outcome.CRASHED},
        "code without an entry is the end of the stack: _URC_END_OF_STACK says no more; or the entry before it answers",
        "https://github.com/openssl/openssl/issues/8853",
    ),
    Limit(
        Trait.NO_CODE,
        frozenset({Outcome.REFUSED, Outcome.STOPPED, Outcome.ENDED_EARLY}),
        "a return address of zero is the end of the stack, and where a null pointer leads there is no table",
        "https://github.com/libunwind/libunwind/issues/106",
    ),
    put_by_handler(),
    *LOST,
    Limit(
        Trait.OPEN_END,
        frozenset({Outcome.PHANTOM, Outcome.STOPPED, Outcome.CRASHED, Outcome.REFUSED}),
        "the outermost frame's row does not say that it has no caller: what lies there is taken for a return address",
        "https://github.com/kstenerud/KSCrash/issues/764",
    ),
)
_BEFORE_IT = "the start code is marked EXIDX_CANTUNWIND: the stack ends before it, and its frame is never listed"
BELIEVED_BY_LLVM = (Limit(Trait.ROOT, frozenset({Outcome.STOPPED}), _BEFORE_IT, _EHABI, _ARM), *BELIEVED)
# Where one row for a whole function, true at its calls, is not what holds: as for our own reader of EHABI's tables.
_NOT_AT_A_CALL: tuple[tuple[Trait, ...], ...] = (
    (Trait.RETURN_UNSAVED,),
    (Trait.PROLOGUE, Trait.UNLINKED),
    (Trait.EPILOGUE, Trait.ROW_BEGINS),
    (Trait.EPILOGUE, Trait.LINKED_FURTHER),
    (Trait.FRAME_ELSEWHERE,),
    (Trait.FRAMELESS, Trait.BARE, Trait.PARTLY_RUN),
    (Trait.FRAMELESS, Trait.FRAME_IN_PART),
    (Trait.FP_REUSED, Trait.FRAME_IN_PART),
    (Trait.FP_MOVED_ON,),
)
_LOOKED_UP_BEFORE = tuple(
    Limit(
        trait,
        _LIES | {Outcome.REFUSED, Outcome.STOPPED, Outcome.CRASHED},
        "EHABI knows no signal frames: what a signal interrupted is looked up as behind a call, a byte before pc, and "
        "at a function's first instruction that is the function in front of it",
        _EHABI,
        _ARM,
        frozenset(also),
    )
    for trait, *also in ((Trait.FIRST,), (Trait.JUMPED_TO, Trait.TAIL_CALLED), (Trait.JUMPED_TO, Trait.ROOT))
)
# First: the row of a signal's trampoline is true wherever it stands.
NOT_TOLD_ON_ARM = Limit(
    Trait.SIGNAL,
    frozenset({Outcome.WRONG_REGISTER, Outcome.ENDED_EARLY, Outcome.SKIPPED}),
    "EHABI knows no signal frames: _Unwind_GetIPInfo always says that the address is one behind a call",
    _EHABI,
    _ARM,
)
AT_CALLS_ONLY = (
    NOT_TOLD_ON_ARM,
    *_LOOKED_UP_BEFORE,
    *(
        Limit(
            trait,
            _LIES | {Outcome.REFUSED, Outcome.STOPPED, Outcome.CRASHED},
            "EHABI has one row for a whole function, true at its calls; a signal comes anywhere, and what is popped "
            "then was not pushed",
            "https://github.com/gperftools/gperftools/issues/784",
            _ARM,
            frozenset(also),
        )
        for trait, *also in _NOT_AT_A_CALL
    ),
)
# backtrace() lists addresses only: that a row was another's shows at the frame further out, whose place it gave.
AT_CALLS_ONLY_FURTHER_OUT = tuple(
    replace(limit, outcomes=frozenset({Outcome.ENDED_EARLY}), inner=1)
    for limit in AT_CALLS_ONLY
    if {limit.trait, *limit.also} & {Trait.PROLOGUE, Trait.EPILOGUE, Trait.FRAME_ELSEWHERE, Trait.FRAME_IN_PART}
)
CANNOT_UNWIND = Limit(
    Trait.CANNOT_UNWIND,
    frozenset({Outcome.ENDED_EARLY}),
    "EXIDX_CANTUNWIND in mid-stack is the end of the stack, as far as forced unwinding tells",
    _EHABI,
    _ARM,
)
_OUTERMOST = "the start code is marked EXIDX_CANTUNWIND: for libgcc that is an error, and its frame is never listed"
NO_END = (
    Limit(
        Trait.CANNOT_UNWIND,
        frozenset({Outcome.REFUSED}),
        "a function that is marked EXIDX_CANTUNWIND is an error, or the end, before anything is listed",
        _EHABI,
        _ARM,
    ),
    Limit(Trait.ROOT, frozenset({Outcome.STOPPED}), _OUTERMOST, _EHABI, _ARM),
)
ERROR_AT_THE_END = Limit(Trait.CALLED, frozenset({Outcome.REFUSED, Outcome.STOPPED}), _OUTERMOST, _EHABI, _ARM)
SILENT_END = Limit(
    Trait.CALLED_BY_ROOT,
    frozenset({Outcome.ENDED_EARLY}),
    _OUTERMOST + "; backtrace() returns how many there are, not why there are no more",
    "https://sourceware.org/glibc/manual/latest/html_node/Backtraces.html",
    _ARM,
)
END_AT_THE_END = Limit(
    Trait.CALLED_BY_ROOT,
    frozenset({Outcome.ENDED_EARLY, Outcome.REFUSED}),
    _BEFORE_IT,
    _EHABI,
    _ARM,
)
NOT_TOLD = Limit(
    Trait.SIGNAL,
    frozenset({Outcome.WRONG_REGISTER}),
    "backtrace() lists addresses only: that the one behind a signal's frame was interrupted, and made no call, is lost",
    "https://sourceware.org/glibc/manual/latest/html_node/Backtraces.html",
)
NOT_TOLD_BY_FORCE = replace(NOT_TOLD_ON_ARM, outcomes=_LIES)  # it goes on from there, to the end of the stack
PARSER = "https://github.com/llvm/llvm-project/pull/92291"  # its fix, merged in 2024, is not in LLVM 22


_OLD_ROW = (
    "rows are applied up to the byte before pc, as is right for a return address; at an interrupted pc that a row "
    "begins at, the row before it answers, and slots that are popped are read once more"
)
# A row can begin in the middle of a function, too: .cfi_restore_state behind an early return.
OLD_ROW_INSIDE = Limit(
    Trait.OTHER_IN_FRONT,
    frozenset({Outcome.ENDED_EARLY, Outcome.PHANTOM, Outcome.WRONG_REGISTER}),
    _OLD_ROW,
    PARSER,
    _CFI,
)
OLD_ROW_FURTHER_IN = Limit(
    Trait.ROW_BEGINS,
    frozenset({Outcome.PHANTOM, Outcome.WRONG, Outcome.CRASHED}),
    f"{_OLD_ROW}; here it gave the caller a wrong frame pointer, and a realigned caller's CFA is counted from that",
    PARSER,
    _CFI,
    frozenset({Trait.REALIGNED}),
    inner=1,
)
_X86 = frozenset({"x86_64"})
OLD_ROWS = (
    Limit(Trait.CFA_MOVED, _LIES | {Outcome.CRASHED}, _OLD_ROW, PARSER, _X86),
    Limit(
        Trait.ROW_BEGINS,
        frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED}),
        f"{_OLD_ROW}; here rows count from SP all through, as Go's do, though FP leads to a record",
        PARSER,
        _X86,
        frozenset({Trait.COUNTED_FROM_SP}),
    ),
    *(
        Limit(trait, _LIES | {Outcome.CRASHED}, _OLD_ROW, PARSER, frozenset({"arm64"}))
        for trait in (Trait.ROW_BEGINS, Trait.INTERRUPTED, Trait.SIGNAL)
    ),
    Limit(
        Trait.FP_SET,
        frozenset({Outcome.PHANTOM}),
        f"{_OLD_ROW}; here it gave the caller a wrong frame pointer, and the caller's CFA is counted from that",
        PARSER,
        frozenset({"arm64"}),
        inner=1,
    ),
    ROW_BEFORE_ENTERED,
    ROW_BEFORE_STARTED,
    replace(BAD_REGISTER, outcomes=frozenset({Outcome.ENDED_EARLY})),
    replace(AFTER_LEAVE, outcomes=frozenset({Outcome.CRASHED})),
    *(replace(OLD_ROW_FURTHER_IN, inner=further) for further in (2, 3)),
)

PC_COLUMN = Limit(
    Trait.SIGNAL,
    frozenset({Outcome.CRASHED}),
    "a signal's CIE with the return address in column 32, PC: uw_update_context looks that register's size up, finds "
    "0, and _Unwind_GetGR aborts the process",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/unwind-dw2.c",
    frozenset({"arm64"}),
)
# backtrace() gives its list when it is done: of one that dies in it nothing is known.
_LINUX_UNWIND = "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/config/{}/linux-unwind.h"
PC_COLUMN_UNLISTED = (
    *(replace(PC_COLUMN, inner=-further) for further in (1, 2, 3)),
    *(
        Limit(
            Trait.WRONG_TABLE,
            frozenset({Outcome.CRASHED}),
            "a wrong row's return address leads nowhere, and what looks there for a signal's trampoline reads code "
            "that is not there; backtrace() gives its list when it is done: of one that dies in it nothing is known",
            _LINUX_UNWIND.format(folder),
            frozenset({arch}),
            inner=-1,
        )
        for arch, folder in (("x86_64", "i386"), ("arm64", "aarch64"))
    ),
)
