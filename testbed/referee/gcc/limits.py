"""What GCC's tables do not say, as what believes them shows it."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

ENTRY = Limit(
    Trait.NO_TABLE,
    frozenset({Outcome.REFUSED, Outcome.STOPPED}),
    "GCC prints the no-operations of -fpatchable-function-entry before .cfi_startproc: no row covers a function's "
    "first instructions, although its symbol does",
    "https://gcc.gnu.org/onlinedocs/gcc/Instrumentation-Options.html",
)

THUNK = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY, Outcome.WRONG}),
    "GCC writes a row for the address that a return thunk's own call pushes, and none behind the instruction that "
    "takes it off again: at the thunk's last instruction the row counts a word too much",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/i386/i386.cc;hb=refs/heads/releases/gcc-12",
)

INLINE_THUNK = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.WRONG_REGISTER, Outcome.ENDED_EARLY}),
    "behind the pop of the frame pointer GCC writes no row for it: it is looked for in the word that was popped, "
    "which the call of an inline return thunk overwrites",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/i386/i386.cc;hb=refs/heads/releases/gcc-12",
)

PROFILED = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.STOPPED, Outcome.WRONG}),
    "GCC prints the push of lr before a profiler's call as text, without a row for it: at the call the row does not "
    "count the word",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/arm/bpabi.h;hb=refs/heads/releases/gcc-12",
)

APCS = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.WRONG_REGISTER}),
    "the epilogue of an old frame (-mapcs-frame) loads SP itself from the stack; GCC counts the loaded words as popped "
    "from it, and the row of a tail call's jump, which comes next, has the CFA a word too high",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/arm/arm.cc;hb=refs/heads/releases/gcc-12",
    frozenset({"arm32"}),
)

APCS_VECTORS = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.WRONG}),
    "the epilogue of an old frame (-mapcs-frame) loads vector registers by ip, and then SP; in both rows behind that "
    "GCC counts the CFA a word too low, from fp and from sp + 12",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/arm/arm.cc;hb=refs/heads/releases/gcc-12",
    frozenset({"arm32"}),
)

IN_STEPS = Limit(
    Trait.GIVEN_BACK_IN_PART,
    frozenset({Outcome.REFUSED}),
    "GCC writes one row for a frame that two instructions give back, behind the second one: between them the CFA is "
    "counted from an SP that the first one has moved",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/arm/arm.cc;hb=refs/heads/releases/gcc-12",
    frozenset({"arm32"}),
)

RENAMED = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.REFUSED}),
    "-frename-registers, which -funroll-loops turns on, gives the register by which the epilogue of a realigned frame "
    "finds the CFA another name, and leaves the row as it was: that counts from the prologue's register, which holds "
    "something else by then",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/regrename.cc;hb=refs/heads/releases/gcc-12",
    frozenset({"x86_64"}),
)

POPPED = Limit(
    Trait.REALIGNED,
    frozenset({Outcome.SKIPPED, Outcome.WRONG_REGISTER}),
    "GCC keeps the registers of a realigned frame relative to the frame pointer, and writes no row where its epilogue "
    "has popped that one: what is counted from it then lies in the caller's frame",
    "https://gcc.gnu.org/bugzilla/show_bug.cgi?id=99334",
    frozenset({"x86_64"}),
    frozenset({Trait.EPILOGUE}),
)
