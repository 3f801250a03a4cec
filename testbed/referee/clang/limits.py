"""What clang's tables do not say, as what believes them shows it."""

from __future__ import annotations

from testbed.referee.limits import llvm_arm
from testbed.words.outcome import Outcome

EPILOGUE, _, PROLOGUE, BEHIND, _ = llvm_arm(
    epilogue=frozenset({Outcome.WRONG_REGISTER, Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.WRONG}),
    prologue=frozenset({Outcome.ENDED_EARLY}),
    frameless=frozenset({Outcome.ENDED_EARLY, Outcome.WRONG}),
)
