"""The call stack that was: activations, and the frames of one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from testbed.image import LoadedImage, describe
from testbed.truth.native.near import is_at


@dataclass(frozen=True, slots=True)
class Activation:
    """One execution of a function, from the step its call took effect until control is back.

    ``return_address`` is the code address (no Thumb bit) that the call handed over, and ``cfa`` is SP just before the
    call: that is what the caller's row at the call counts from. A callee that pops its arguments, moves its return
    address or makes room for its caller leaves another SP; the CFA is the same from the call to the end all the same.
    ``goes_on`` is where control really went when it was over, if that is not the return address: a callee may take
    data from behind the call. ``entry_sp`` is SP at the first step, ``opened`` that step. ``parent`` is the index of
    the activation that made the call. The bottom of a stack has no parent, no return address and no CFA.

    A ``signal`` one stands for a signal's frame: it is the trampoline that the handler returns to. Nobody called it, so
    its return address is the next instruction of the interrupted activation, its parent, and the registers to go back
    to are those of the step before ``opened``.
    """

    index: int
    parent: int | None
    return_address: int | None
    entry_sp: int
    cfa: int | None
    opened: int
    signal: bool = False
    goes_on: int | None = None


@dataclass(frozen=True, eq=False)
class Activations(Sequence[Activation]):
    """All activations of a trace, in columns; an `Activation` is made when it is looked at.

    A parent of -1: the bottom of a stack, whose return address and CFA are 0 here. ``goes_on`` is 0 where it is None.
    """

    parent: NDArray[np.int32]
    return_address: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    entry_sp: NDArray[np.uint64]
    opened: NDArray[np.int64]
    goes_on: NDArray[np.uint64]
    signal: NDArray[np.bool_]
    _made: dict[int, Activation] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, activations: Sequence[Activation]) -> Activations:
        """The columns of activations that exist already."""
        count = len(activations)
        return cls(
            np.fromiter((-1 if a.parent is None else a.parent for a in activations), np.int32, count),
            np.fromiter((a.return_address or 0 for a in activations), np.uint64, count),
            np.fromiter((a.cfa or 0 for a in activations), np.uint64, count),
            np.fromiter((a.entry_sp for a in activations), np.uint64, count),
            np.fromiter((a.opened for a in activations), np.int64, count),
            np.fromiter((a.goes_on or 0 for a in activations), np.uint64, count),
            np.fromiter((a.signal for a in activations), np.bool_, count),
            dict(enumerate(activations)),
        )

    def __len__(self) -> int:
        return len(self.parent)

    @overload
    def __getitem__(self, index: int) -> Activation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Activation]: ...
    def __getitem__(self, index: int | slice) -> Activation | Sequence[Activation]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        made = self._made.get(index)
        if made is None:
            place = range(len(self))[index]
            made = self._made[index] = self._make(place)
        return made

    def _make(self, index: int) -> Activation:
        parent, entry_sp, opened = int(self.parent[index]), int(self.entry_sp[index]), int(self.opened[index])
        if parent < 0:
            return Activation(index, None, None, entry_sp, None, opened)
        goes_on = int(self.goes_on[index]) or None
        returns, cfa = int(self.return_address[index]), int(self.cfa[index])
        return Activation(index, parent, returns, entry_sp, cfa, opened, bool(self.signal[index]), goes_on)


@dataclass(frozen=True, slots=True)
class TrueFrame:
    """One frame of the truth: where its activation continues, and with which registers.

    ``registers`` holds the callee-saved ones, SP and pc, as this frame will see them when control is back in it;
    for the innermost frame as they are now. SP is the callee's CFA: a frame is described as at its call. ``cfa`` is
    None for the bottom of the stack. ``calling`` is true where ``pc`` is a return address, false where it is the next
    instruction to execute: the innermost frame, one that a signal interrupted, and a signal's trampoline, which nobody
    called. ``interrupted`` is true where a signal interrupted it. ``goes_on`` is where control will really go on, if
    not at ``pc``.
    """

    pc: int
    cfa: int | None
    registers: Mapping[str, int] = field(repr=False)
    activation: int
    calling: bool = True
    interrupted: bool = False
    goes_on: int | None = None

    def is_at(self, pc: int) -> bool:
        """Is this a right answer to where the frame's function goes on?"""
        return bool(is_at(pc, self.pc, self.goes_on or 0))

    @property
    def lookup_pc(self) -> int:
        """An address inside the instruction at which this frame stands: the call, for a return address."""
        return self.pc - self.calling


@dataclass(frozen=True, slots=True)
class CallStack:
    """All frames at one step, innermost first; the last one is the root. ``images`` name them."""

    frames: tuple[TrueFrame, ...]
    images: tuple[LoadedImage, ...] = field(default=(), compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def pcs(self) -> tuple[int, ...]:
        """The interrupted pc, then the return addresses."""
        return tuple(frame.pc for frame in self.frames)

    def __repr__(self) -> str:
        return f"<CallStack {self}>"

    def __str__(self) -> str:
        return " < ".join(describe(self.images, frame.pc, caller=frame.calling) for frame in self.frames)
