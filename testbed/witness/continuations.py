"""What the first pass over a trace finds: continuations, who handed them over, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property


class Birth(Enum):
    """What created a continuation."""

    CALL = "a call instruction"
    JUMP = "a jump, with the address to come back to where a return address belongs"
    PUT = "the same, where no call had put what lies there"
    SIGNAL = "the kernel: a handler's restorer"
    COPY = "a jump: the continuation in the link register, told apart from its other copies"


@dataclass(frozen=True, slots=True)
class Continuation:
    """A return address that was handed over at ``step``: control may go on at ``address``, once or often.

    ``cfa`` is SP before the call, ``stack`` the identity of the stack that it points to. ``function`` is an address in
    the function that handed it over, ``target`` the address that it called. ``whole`` is the continuation that a COPY
    is one of, else itself.
    """

    index: int
    kind: Birth
    step: int
    address: int
    cfa: int
    stack: int
    function: int
    target: int
    whole: int


class Act(Enum):
    """What a step does to the stack of activations."""

    CALL = "hands over a continuation"
    JUMP = "goes elsewhere"
    RETURN = "goes on at a continuation"
    SIGNAL = "a signal arrives"
    RESUME = "the registers of a signal frame are loaded"


@dataclass(frozen=True, slots=True)
class Happening:
    """One act of one step. ``sp`` and ``stack`` are those after it, ``at`` the pc before it, ``to`` after it.

    ``continuation`` is the one handed over by a call, or returned to, or -1. ``made`` are those that a jump may hand
    over, innermost last. ``copy`` is the one that tells whether a jump to another stack takes its caller along, or -1.
    ``ahead``: which continuations registers and words hold, at a return after which SP is another one than before the
    call, or that took its address from a word which a call had not put there.
    """

    step: int
    act: Act
    at: int
    to: int
    sp: int
    stack: int
    continuation: int = -1
    copy: int = -1
    leaves: bool = False
    made: tuple[int, ...] = ()
    ahead: Mapping[str | int, int] | None = None


@dataclass(frozen=True, eq=False)
class Followed:
    """The result of the first pass. ``last`` is the last step that went on at a continuation, -1: none ever did.

    ``used`` are those that some instruction read: to keep, to compute with, or to jump to; ``dropped`` those in words
    that SP was moved over before anybody had. ``last_sp`` is SP at the ``last`` step.
    """

    continuations: list[Continuation] = field(repr=False)
    happenings: list[Happening] = field(repr=False)
    last: list[int] = field(repr=False)
    used: frozenset[int] = field(repr=False)
    dropped: frozenset[int] = field(repr=False)
    last_sp: Mapping[int, int] = field(repr=False)

    def came_back(self, one: Continuation) -> bool:
        """Control went on at what this instruction handed over, at this visit or at another one."""
        return (one.function, one.address) in self._came_back

    @cached_property
    def _came_back(self) -> frozenset[tuple[int, int]]:
        pairs = zip(self.continuations, self.last, strict=True)
        return frozenset((one.function, one.address) for one, last in pairs if last >= 0)
