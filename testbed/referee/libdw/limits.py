"""What libdw cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.limits import GCC_REALIGNED, llvm_arm, signed, table_limits
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

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
            Trait.NO_CODE: frozenset({Outcome.REFUSED, Outcome.SKIPPED, Outcome.ENDED_EARLY}),
            Trait.OPEN_END: frozenset({Outcome.PHANTOM}),
            Trait.WRONG_INDEX: frozenset({Outcome.SKIPPED, Outcome.ENDED_EARLY, Outcome.WRONG}),
            Trait.LOST_REGISTER: frozenset({Outcome.ENDED_EARLY}),
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
