"""What libdw cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from dataclasses import replace

from testbed.contract.unwinder import Limit
from testbed.referee.limits import GCC_REALIGNED, llvm_arm, lost_pointer, put_by_handler, signed, table_limits
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

# Of the frame further out, whose CFA is counted from what the one further in has lost.
LOST = replace(
    lost_pointer(
        Outcome.ENDED_EARLY,
        because="the table says that the frame pointer cannot be had any more, and the caller's CFA counts from it: "
        "the stack ends there as if that frame were the outermost one",
        reference="https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
    ),
    inner=1,
)
WILD = Limit(
    Trait.NO_CODE,
    frozenset({Outcome.SKIPPED}),
    "where a null pointer leads there is no table: the frame pointer is followed, which leads to the caller's record",
    "https://sourceware.org/git/?p=elfutils.git;a=blob;f=backends/x86_64_unwind.c;hb=refs/tags/elfutils-0.188",
    frozenset({"x86_64", "arm64"}),
    frozenset({Trait.FIRST}),
)
RBX_FORGOTTEN = Limit(
    Trait.MOVED_UP,
    frozenset({Outcome.ENDED_EARLY}),
    "elfutils' defaults for x86_64 say of register 0, rax, that a call preserves it, where rbx is meant, which is 3: "
    "of a caller rbx is unknown, and this one's CFA is counted from it",
    "https://sourceware.org/git/?p=elfutils.git;a=blob;f=backends/x86_64_cfi.c;hb=refs/tags/elfutils-0.188",
    frozenset({"x86_64"}),
    frozenset({Trait.CHANGED, Trait.FP_REUSED}),
)
LIMITS = (
    *table_limits(
        {
            Trait.WRONG_TABLE: frozenset(
                {Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.WRONG_REGISTER, Outcome.PHANTOM, Outcome.SKIPPED}
            ),
            Trait.NO_TABLE: frozenset(
                {
                    Outcome.REFUSED,
                    Outcome.STOPPED,
                    Outcome.SKIPPED,
                    Outcome.ENDED_EARLY,
                    Outcome.PHANTOM,
                    Outcome.WRONG_REGISTER,
                    Outcome.WRONG,
                }
            ),
            Trait.NO_CODE: frozenset({Outcome.REFUSED, Outcome.ENDED_EARLY}),
            Trait.OPEN_END: frozenset({Outcome.PHANTOM}),
            Trait.WRONG_INDEX: frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY, Outcome.WRONG}),
            Trait.SYNCHRONOUS: frozenset(
                {Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.PHANTOM, Outcome.WRONG_REGISTER, Outcome.WRONG}
            ),
        }
    ),
    *llvm_arm(
        {
            "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": "ended_early skipped wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE": "ended_early skipped wrong_register",
            "PROLOGUE+ALLOCATED_IN_PART": "ended_early",
            "NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE": "ended_early skipped wrong",
            "NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER": "ended_early skipped wrong_register wrong",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART": "ended_early skipped wrong",
            "FP_MOVED_IN_PART": "ended_early wrong_register",
            "GIVEN_BACK_IN_PART": "ended_early wrong_register",
        }
    ),
    GCC_REALIGNED,
    WILD,
    LOST,
    RBX_FORGOTTEN,
    put_by_handler(),
)
REPEATED = Limit(
    Trait.EPILOGUE,
    frozenset({Outcome.WRONG}),
    "LLVM's ARM rows do not know the epilogue, so the caller found is a wrong one; where its row has the return "
    "address in the link register, libdw takes the interrupted frame's value, finds the same frame again, and never "
    "ends: it does not ask whether a caller's CFA is further out",
    "https://github.com/bloomberg/pystack/pull/26",
    frozenset({"arm32"}),
    frozenset({Trait.NO_EPILOGUE_ROWS, Trait.ROW_BEGINS}),
)
SIGNED = signed("it is given no mask of signature bits, and says a signed return address as it is", Outcome.WRONG)
