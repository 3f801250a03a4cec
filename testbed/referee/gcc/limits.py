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
