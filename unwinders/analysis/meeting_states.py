"""States of several ways beside each other: what is lost where two meet, and which one holds where exceptions land."""

from __future__ import annotations

from testbed.arch import Arch
from unwinders.analysis.abstract_state import CFA, LANDED, AbstractState, AbstractValue, EntryValue, Slot, StackAddress


def left_out(arch: Arch, one: AbstractState, other: AbstractState, joined: AbstractState) -> bool:
    """True where either way says where the CFA or a value of the caller is, and both together do not.

    No function can give back a register of which that is so: it does not know either which way it came.
    """
    if joined.registers is one.registers and joined.slots is one.slots:
        return False
    lost = {CFA, arch.return_address, *arch.preserved} - joined.said()
    return bool(lost) and not lost.isdisjoint(one.said() & other.said())


def landings(arch: Arch, behind_calls: tuple[AbstractState, ...]) -> list[AbstractState]:
    """Where exceptions land: in the states behind those calls at which most is saved.

    A function that saves registers on some of its ways only has saved them all before calls that it has to clean up
    behind. Arguments of a call are off the stack where an exception lands: a frame pointer is surer than SP, which
    becomes a place of its own.
    """
    saved = [_saved(state) for state in behind_calls]
    most = max(saved, key=len, default=frozenset())
    if not all(some <= most for some in saved):
        return [_without_sp(arch, state) for state in behind_calls]
    found = [state for state, some in zip(behind_calls, saved, strict=True) if some == most]
    return [_without_sp(arch, state) for state in found]


def _saved(state: AbstractState) -> frozenset[tuple[Slot, AbstractValue]]:
    """The slots with values of the caller."""
    return frozenset((slot, value) for slot, (_, value) in state.slots.items() if isinstance(value, EntryValue))


def _without_sp(arch: Arch, state: AbstractState) -> AbstractState:
    if not any(_is_frame_pointer(arch, state, name) for name in arch.frame_pointers):
        return state
    return AbstractState({**state.registers, arch.sp: StackAddress(LANDED, 0)}, state.slots)


def _is_frame_pointer(arch: Arch, state: AbstractState, name: str) -> bool:
    """True where the register points into the frame; to its saved self, where every compiler lays out records so."""
    value = state.registers.get(name)
    if not isinstance(value, StackAddress) or value.base != CFA:
        return False
    saved = state.slots.get((CFA, value.offset))
    return len(arch.frame_pointers) > 1 or (saved is not None and saved[1] == EntryValue(name))
