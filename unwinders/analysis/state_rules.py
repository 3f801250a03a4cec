"""From what is known before an instruction to the rules of a row: where the CFA and the caller's registers are.

The CFA counts from SP wherever SP is known, else from a frame pointer or another register that calls leave alone, else
from where it is stored in the frame, as a function that realigns its stack stores it. A register that was seen saved is
where it was saved, also while it is unchanged as far as the instructions say: control may come back from elsewhere with
other registers (`__builtin_longjmp`). A register that nothing is known of is `Undefined`: unknown in the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from testbed.arch import Arch
from testbed.contract.rows import (
    RA_SIGNED,
    AtRegister,
    Constant,
    Offset,
    Operation,
    RegisterPlus,
    Rule,
    Undefined,
    ValExpression,
)
from testbed.conventions import platform
from testbed.words.errors import UnsupportedRule
from unwinders.analysis.abstract_state import CFA, AbstractState, EntryValue, StackAddress

_BREG0, _DEREF, _PLUS_UCONST = 0x70, 0x06, 0x23  # DWARF 5, section 7.7.1


def has_frame(arch: Arch, state: AbstractState) -> bool:
    """True where the CFA and the return address can be had."""
    return _cfa(arch, state) is not None and _return_address(arch, state, _saved(arch, state)) is not None


def frame_rules(arch: Arch, state: AbstractState) -> tuple[Rule, dict[str, Rule]]:
    """The CFA and the rules of the caller's registers. Raises UnsupportedRule where there is no CFA or no way back.

    A callee-saved register without a rule is unchanged, as in any row.
    """
    cfa = _cfa(arch, state)
    if cfa is None:
        raise UnsupportedRule("no register and no slot of the frame leads to the CFA here")
    saved = _saved(arch, state)
    link = _return_address(arch, state, saved)
    if link is None:
        raise UnsupportedRule("the return address is in no register and in no slot of the frame here")
    rules: dict[str, Rule] = {}
    for name in platform(arch).preserved:
        value = _entry_value(name)
        if state.registers.get(name) != value:
            rules[name] = saved.get(value) or _held(state, value) or Undefined()
        elif isinstance(slot := saved.get(value), Offset):
            rules[name] = slot
    value, where = link
    if where is not None:
        rules[arch.return_address] = where
    if value.signed:
        rules[RA_SIGNED] = Constant(1)
    return cfa, rules


@cache
def _entry_value(name: str, signed: bool = False) -> EntryValue:
    return EntryValue(name, signed)


def _return_address(
    arch: Arch, state: AbstractState, saved: Mapping[EntryValue, Rule]
) -> tuple[EntryValue, Rule | None] | None:
    """The return address, plain or signed, and where it is; no rule where it is in the link register alone.

    The slot comes first, of either: a call overwrites the link register, also one with the plain address in it.
    """
    values = (_entry_value(arch.return_address), _entry_value(arch.return_address, True))
    for value in values:
        where = saved.get(value)
        if where is not None:
            return value, where
    holders = [(name, value) for value in values for name, held in state.registers.items() if held == value]
    if not holders:
        return None
    kept, value = min(
        holders, key=lambda held: (held[0] not in platform(arch).preserved, held[0] != arch.return_address)
    )
    return value, None if kept == arch.return_address else RegisterPlus(kept, 0)


def _places(arch: Arch, state: AbstractState) -> Iterator[tuple[str, StackAddress]]:
    """The registers that hold an address in the frame; those that survive a call first."""
    order = dict.fromkeys((arch.sp, *arch.frame_pointers, *platform(arch).preserved, *state.registers))
    for name in order:
        value = state.registers.get(name)
        if isinstance(value, StackAddress):
            yield name, value


def _cfa(arch: Arch, state: AbstractState) -> Rule | None:
    counted = {name: place.offset for name, place in _places(arch, state) if place.base == CFA}
    kept = next((name for name in counted if name == arch.sp or name in platform(arch).preserved), None)
    if kept is not None:
        return RegisterPlus(kept, -counted[kept])
    for (base, offset), (size, value) in state.slots.items():
        if isinstance(value, StackAddress) and value.base == CFA and size == arch.word:
            rule = _at(arch, state, base, offset)
            if rule is not None:
                return rule if value.offset == 0 else _loaded_plus(arch, rule, -value.offset)
    # At last a register that a call overwrites: the interrupted frame still has it.
    return next((RegisterPlus(name, -offset) for name, offset in counted.items()), None)


def _loaded_plus(arch: Arch, rule: AtRegister, distance: int) -> Rule | None:
    number = arch.by_name[rule.register].dwarf
    if number is None or number > 31:
        return None
    load = Operation(_BREG0 + number, (rule.offset,), 0)
    plus = Operation(_PLUS_UCONST, (distance & arch.word_mask,), 2)
    return ValExpression((load, Operation(_DEREF, (), 1), plus))


def _at(arch: Arch, state: AbstractState, base: int, offset: int) -> AtRegister | None:
    """The slot, counted from a register."""
    for name, place in _places(arch, state):
        if place.base == base:
            return AtRegister(name, offset - place.offset)
    return None


def _held(state: AbstractState, value: EntryValue) -> Rule | None:
    """Another register that a value of the caller is in."""
    return next((RegisterPlus(name, 0) for name, kept in state.registers.items() if kept == value), None)


def _saved(arch: Arch, state: AbstractState) -> dict[EntryValue, Rule]:
    """The slots that values of the caller are in; none below SP: a signal handler may have written there."""
    sp = state.registers.get(arch.sp)
    found: dict[EntryValue, Rule] = {}
    for (base, offset), (size, kept) in state.slots.items():
        if type(kept) is not EntryValue or kept in found or 8 * size != arch.by_name[kept.register].bits:
            continue
        if isinstance(sp, StackAddress) and sp.base == base and offset < sp.offset:
            continue
        rule = Offset(offset) if base == CFA else _at(arch, state, base, offset)
        if rule is not None:
            found[kept] = rule
    return found
