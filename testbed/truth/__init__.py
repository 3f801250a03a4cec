"""The truth: the call stack at every step, watched by the effect of each instruction."""

from testbed.truth.expectations import Disagreement, disagreements, frame_names
from testbed.truth.model import Activation, CallStack, TrueFrame
from testbed.truth.truth import Truth, observe

__all__ = ["Activation", "CallStack", "Disagreement", "TrueFrame", "Truth", "disagreements", "frame_names", "observe"]
