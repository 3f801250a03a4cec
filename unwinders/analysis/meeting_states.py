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


def landings(arch: Arch, behind_calls: tuple[AbstractState, ...]) -> list[list[AbstractState]]:
    """Where exceptions land, the likeliest answer first: in the states behind calls at which the same is saved.

    A function that saves registers on some of its ways only has saved them all before most calls that it has to clean
    up behind. Where calls differ in what is saved, and none has saved all of it, all of them are one answer.
    """
    groups: dict[frozenset[tuple[Slot, AbstractValue]], list[AbstractState]] = {}
    for state in behind_calls:
        groups.setdefault(_saved(state), []).append(state)
    order = sorted(groups, key=len, reverse=True)
    answers = [groups[saved] for saved in order]
    if not all(saved <= order[0] for saved in order):
        answers.insert(0, [*behind_calls])
    return [[_landed(arch, state) for state in answer] for answer in answers]


def _saved(state: AbstractState) -> frozenset[tuple[Slot, AbstractValue]]:
    """The slots with values of the caller."""
    return frozenset((slot, value) for slot, (_, value) in state.slots.items() if isinstance(value, EntryValue))


def _landed(arch: Arch, state: AbstractState) -> AbstractState:
    """The state in which exceptions of a call land, of which ``state`` is the one behind it.

    Arguments that the call pushed are off the stack: a frame pointer is surer than SP, which becomes a place of its
    own. Where both are one place, nothing was pushed.
    """
    pointers = [state.registers[name] for name in arch.frame_pointers if _is_frame_pointer(arch, state, name)]
    if not pointers or state.registers.get(arch.sp) in pointers:
        return state
    return AbstractState({**state.registers, arch.sp: StackAddress(LANDED, 0)}, state.slots)


def _is_frame_pointer(arch: Arch, state: AbstractState, name: str) -> bool:
    """True where the register points into the frame; to its saved self, where every compiler lays out records so."""
    value = state.registers.get(name)
    if not isinstance(value, StackAddress) or value.base != CFA:
        return False
    saved = state.slots.get((CFA, value.offset))
    return len(arch.frame_pointers) > 1 or (saved is not None and saved[1] == EntryValue(name))
