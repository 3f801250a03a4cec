"""The traits that say what shape a frame has, by short names."""

from __future__ import annotations

from testbed.truth import Truth
from testbed.words.traits import Trait

P, E, L, LC, R = Trait.PROLOGUE, Trait.EPILOGUE, Trait.FRAMELESS, Trait.FRAMELESS_CALLER, Trait.FP_REUSED

FRAME_SHAPE = {P, E, L, LC, R, Trait.MIXED_ISA, Trait.TRANSITION}


def shape(truth: Truth, step: int) -> set[Trait]:
    """The traits about frames; what the link register and the stack hold has tests of its own."""
    return set(truth.traits(step)) & FRAME_SHAPE
