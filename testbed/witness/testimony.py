"""What the witness says: the activations it saw, and which one executes each step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Seen:
    """An activation: from the step ``opened`` on, until control goes on at its continuation.

    ``address`` is where that is, ``cfa`` SP there; of the bottom of a stack (``parent`` None) there are none.
    ``continuation`` is its number in the first pass, -1 for a bottom and for a signal's frame (``signal``), which the
    kernel ends. ``stack`` is the identity of the stack that the CFA lies on.
    """

    parent: int | None
    address: int | None
    cfa: int | None
    opened: int
    continuation: int
    stack: int
    signal: bool = False


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where an activation stands at a step, or goes on: ``calling``, if that is behind a call that it made.

    ``opened`` is its first step.
    """

    pc: int
    cfa: int | None
    opened: int
    calling: bool


@dataclass(frozen=True, eq=False)
class Testimony:
    """All activations of a run, and by step the index of the innermost one.

    ``unfollowed`` are steps that jump to where their own activation goes on, and leave its frame behind, with a value
    that did not come from its call: as good as a return, but nothing that was followed proves it.
    """

    activations: tuple[Seen, ...] = field(repr=False)
    node: NDArray[np.int32] = field(repr=False)
    unfollowed: tuple[int, ...] = ()

    def chain(self, step: int) -> tuple[Seen, ...]:
        """The activations at a step, innermost first; the last one is the bottom of its stack."""
        found: list[Seen] = []
        index: int | None = int(self.node[step])
        while index is not None:
            found.append(self.activations[index])
            index = found[-1].parent
        return tuple(found)

    def frames(self, step: int, pc: int) -> tuple[Whereabouts, ...]:
        """Where each activation stands, innermost first; ``pc`` is where the innermost one is."""
        found, at, calling = [], pc, False
        for activation in self.chain(step):
            found.append(Whereabouts(at, activation.cfa, activation.opened, calling))
            outer = None if activation.parent is None else self.activations[activation.parent]
            at, calling = activation.address or 0, not activation.signal and not (outer and outer.signal)
        return tuple(found)
