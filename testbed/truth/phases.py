"""Where in its activation each step is: the five phases, by which scores, pages and test vectors sort sites.

They are defined from what was executed alone. The first line that holds is the phase::

    ENTRY      the activation's first step
    CALL       the step's instruction opens another activation: a call, however it is made
    PROLOGUE   the settled (SP, FP) of `testbed.truth.sites` are not reached yet
    EPILOGUE   they have been left already
    BODY       anything else

So a function that is entered by a tail call has no entry, but a prologue: its activation began before. What is asked
of a table that holds at calls only is asked at CALL.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from testbed.truth.watched import Watched


class Phase(Enum):
    """Where in its activation a step is; ``meaning`` is the sentence that legends show."""

    ENTRY = "entry"
    PROLOGUE = "prologue"
    BODY = "body"
    EPILOGUE = "epilogue"
    CALL = "call"

    @property
    def meaning(self) -> str:
        return _MEANING[self]


_MEANING = {
    Phase.ENTRY: "the first instruction of an activation",
    Phase.PROLOGUE: "before the frame has the stack pointer and frame pointer that it will keep",
    Phase.BODY: "any other instruction",
    Phase.EPILOGUE: "after the frame has given up that stack pointer or frame pointer",
    Phase.CALL: "an instruction that calls",
}
PHASES = tuple(Phase)


def phases(truth: Watched) -> NDArray[np.int8]:
    """The phase of every step, as an index of PHASES."""
    node, activations, sites = truth.node, truth.activations, truth.sites
    steps = np.arange(len(node))
    calls = np.zeros(len(node), np.bool_)
    if len(node) > 1:
        inner = node[1:]  # a signal has no instruction: it opens two activations, neither of them at a call
        opens = (activations.opened[inner] == steps[1:]) & (activations.parent[inner] == node[:-1])
        calls[:-1] = opens & (truth.trace.sizes[:-1] != 0)
    found = np.full(len(node), PHASES.index(Phase.BODY), np.int8)
    for phase, where in (
        (Phase.EPILOGUE, sites.epilogue),
        (Phase.PROLOGUE, sites.prologue),
        (Phase.CALL, calls),
        (Phase.ENTRY, activations.opened[node] == steps),
    ):
        found[where] = PHASES.index(phase)
    return found
