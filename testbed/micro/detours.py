"""What a path does that its code does not say, told to the compiled hooks: forced branches, answered calls.

The hooks do most of it without a stop (`testbed.machine.native.detours`); what they leave to the caller is noted in the
same list.
"""

from __future__ import annotations

import numpy as np

from testbed.machine.native import places
from testbed.machine.native.detours import STUCK
from testbed.machine.native.run import State


class Detours:
    """The forced branches of a path that are still to come, and the calls that were answered; at most ``most`` each.

    Answered calls go on at ``answer`` with 0 in Unicorn's register ``result``, or ``value``.
    """

    def __init__(self, state: State, most: int, *, answer: int, result: int, value: int) -> None:
        self._state = state
        self._answers, self._forces = np.zeros((most, 2), np.uint64), np.zeros((most, 2), np.uint64)
        state[places.ANSWERS], state[places.FORCES] = self._answers.ctypes.data, self._forces.ctypes.data
        state[places.ANSWER], state[places.RESULT], state[places.RESULTS] = answer, result, value

    def begin(self, forced: tuple[tuple[int, int], ...]) -> None:
        """Another path, with other (step, address) of forced branches, in order."""
        if forced:
            self._forces[: len(forced)] = forced
        self._state[places.FORCED], self._state[places.FORCE_COUNT] = 0, len(forced)
        self._state[places.ANSWERED] = 0

    def force(self, step: int) -> int | None:
        """The address that a branch is forced to before a step, which counts as done; None where none is."""
        done = self._state[places.FORCED]
        if done == self._state[places.FORCE_COUNT] or int(self._forces[done, 0]) != step:
            return None
        self._state[places.FORCED] = done + 1
        return int(self._forces[done, 1])

    def note(self, step: int, callee: int) -> None:
        """One more answered call: the step that called, and what."""
        count = self._state[places.ANSWERED]
        self._answers[count] = step, callee
        self._state[places.ANSWERED] = count + 1

    def is_stuck(self, step: int) -> bool:
        """True where every place that the path comes back to is one that is not executed."""
        count = self._state[places.ANSWERED]
        return count >= STUCK and int(self._answers[count - STUCK, 0]) + STUCK + 1 > step

    @property
    def answered(self) -> tuple[tuple[int, int], ...]:
        """The (step, callee) of all answered calls of the path."""
        return tuple(map(tuple, self._answers[: self._state[places.ANSWERED]].tolist()))
