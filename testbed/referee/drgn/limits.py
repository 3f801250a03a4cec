"""What drgn cannot know: which facts about a site show as which outcomes, and why."""

from __future__ import annotations

from dataclasses import replace

from testbed.referee.limits import GCC_REALIGNED, limit, llvm_arm, lost_pointer
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_ARM32 = frozenset({"arm32"})


_BELIEVED = (
    limit(
        Trait.WRONG_TABLE,
        "ended_early phantom skipped wrong wrong_register",
        "a table is believed, not checked: where its row is wrong, so is all that is computed from it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    limit(
        Trait.NO_TABLE,
        "ended_early refused skipped stopped wrong",
        "no table covers this code: drgn follows the frame pointer, as if the prologue were over, and where that leads "
        "nowhere it ends",
        "https://github.com/openssl/openssl/issues/8853",
    ),
    limit(
        Trait.OPEN_END,
        "phantom",
        "the outermost frame's row does not say that it has no caller: what lies there is taken for a return address",
        "https://github.com/kstenerud/KSCrash/issues/764",
    ),
    replace(
        lost_pointer(
            Outcome.STOPPED,
            because="the table says that the frame pointer cannot be had any more, and the caller's CFA counts from it",
            reference="https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
        ),
        inner=1,
    ),
    limit(
        Trait.NO_CODE,
        "skipped wrong wrong_register",
        "a call to no code is shown as if the call instruction had been interrupted, where there is a link register; "
        "and what a handler has put into the signal's frame is believed",
        "https://github.com/osandov/drgn/pull/343",
    ),
)

_B_KEY = (
    "drgn reads the tables of a file as one: a CIE with the augmentation B, which says that return addresses are "
    "signed with the B key, makes all of them unknown"
)
_AADWARF = "https://github.com/ARM-software/abi-aa/blob/main/aadwarf64/aadwarf64.rst"
UNREAD = limit(Trait.B_KEY, "refused stopped", _B_KEY, _AADWARF, frozenset({"arm64"}))
EH_FRAME = (*_BELIEVED, UNREAD, GCC_REALIGNED)

THUMB = limit(
    Trait.LAST_CALL,
    "stopped wrong",
    "a Thumb return address is looked up at its value minus one, and the value has bit 0 set: that is the instruction "
    "behind the call, in another function where the call never returns",
    "https://github.com/libunwind/libunwind/pull/131",
    _ARM32,
    Trait.SECOND_ISA,
)
DEBUG_FRAME = (
    limit(
        Trait.WRONG_TABLE,
        "wrong wrong_register",
        "a table is believed, not checked: where its row is wrong, so is all that is computed from it",
        "https://github.com/llvm/llvm-project/issues/63598",
        _ARM32,
    ),
    *llvm_arm(
        {
            "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": "ended_early refused skipped wrong wrong_register",
            "PROLOGUE+ALLOCATED_IN_PART": "ended_early",
            "NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE": "skipped",
            "NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER": "ended_early refused skipped wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE": "wrong_register",
            "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART": "ended_early skipped wrong",
            "FP_MOVED_IN_PART": "ended_early wrong_register",
            "GIVEN_BACK_IN_PART": "ended_early refused wrong_register",
        }
    ),
    THUMB,
)
