"""What clang's tables do not say, as what believes them shows it."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.limits import llvm_arm
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

EPILOGUE, PROLOGUE, BEHIND = llvm_arm(
    {
        "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": "ended_early skipped wrong wrong_register",
        "PROLOGUE+ALLOCATED_IN_PART": "ended_early",
        "NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE": "ended_early skipped wrong",
    }
)

STORES = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.WRONG, Outcome.WRONG_REGISTER}),
    "LLVM's x86 back end writes the row of the instruction that allocates a frame behind the stores of SIMD registers "
    "that follow it: at each of them the row does not count the frame",
    "https://github.com/llvm/llvm-project/blob/main/llvm/lib/Target/X86/X86FrameLowering.cpp",
)

MASKED = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.WRONG, Outcome.WRONG_REGISTER}),
    "LLVM's AArch64 back end hardens loads late: the masks of the registers that an epilogue loads stand between the "
    "load, which takes the frame off, and the row that says so",
    "https://github.com/llvm/llvm-project/blob/main/llvm/lib/Target/AArch64/AArch64SpeculationHardening.cpp",
)

RESTORED = Limit(
    Trait.WRONG_TABLE,
    frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.WRONG, Outcome.WRONG_REGISTER}),
    "LLVM's assembler adds what .cfi_adjust_cfa_offset says to the offset of the last directive before "
    ".cfi_restore_state, not to the offset that was restored",
    "https://github.com/llvm/llvm-project/blob/main/llvm/lib/MC/MCDwarf.cpp",
)
