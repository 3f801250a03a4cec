"""One change of a table's states, as a directive makes it: how far it reaches, and what becomes right by it.

A directive changes some parts of the state from its instruction on, until the table itself says the same part anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER, SIGNED, FrameState, StatePart, directives
from testbed.checks.tried_function import THE_CFA, THE_SIGNATURE, TriedFunction, parts_of, points_into
from testbed.contract.rows import Offset, RegisterPlus, SameValue, Undefined

_NOBODY = -1  # no instruction needs what an edit says: it is true all the same
_IN_PLACE = (None, SameValue(), Undefined())  # the rules that tell of no save


@dataclass(frozen=True, slots=True)
class Edit:
    """New values of parts from one instruction on; ``fixed`` become right by it, ``end`` is the first to go wrong."""

    values: Mapping[str, StatePart]
    fixed: frozenset[int]
    end: int | None


def spread(function: TriedFunction, i: int, values: Mapping[str, StatePart]) -> Iterator[tuple[int, FrameState]]:
    """The states from an instruction on, as they are if directives set ``values`` before it; up to where the table sets
    them anew.
    """
    live = dict(values)
    for j in range(i, len(function)):
        state = function.states[j]
        if j > i:
            if function.begins(j):
                return
            for part in (*function.sets(j), *[CFA_REGISTER] * (function.tried[j].pc in function.registers_said)):
                live.pop(part, None)
            if function.may_set(j):
                live = _without_what_is_set(function, j, live)
            if not live:
                return
        yield j, with_values(state, live)


def _held(function: TriedFunction, i: int, values: Mapping[str, StatePart]) -> Iterator[tuple[int, FrameState]]:
    """The states as they are if ``values`` hold until the table itself says another one of them."""
    for j in range(i, len(function)):
        if j > i and (function.begins(j) or function.sets(j) & values.keys()):
            return
        yield j, with_values(function.states[j], values)


def with_values(state: FrameState, values: Mapping[str, StatePart]) -> FrameState:
    """A state with other values of some parts. A sign state is not set but turned over."""
    turned = {SIGNED: not state.get(SIGNED)} if SIGNED in values else {}
    return {**state, **values, **turned}


def _without_what_is_set(function: TriedFunction, j: int, live: Mapping[str, StatePart]) -> dict[str, StatePart]:
    """Drops edits that a correct directive ends, though it repeats what the table said before."""
    state = function.states[j]
    new = with_values(state, live)
    ended = {part for thing in function.wrong(j, new) - function.wrong(j, state) for part in parts_of(thing)}
    named = function.named.get(function.tried[j].pc)
    return {part: value for part, value in live.items() if part not in (ended if named is None else ended & named)}


def edits_of(function: TriedFunction, i: int, wrong: Iterable[str]) -> dict[str, Edit]:
    """For each wrong thing the value that makes most instructions right, where any makes this one right.

    Where the table says a slot and the function has saved the register in another one, that is what its author meant:
    a save that happened is told, though the register may have its value still.
    """
    found: dict[str, Edit] = {}
    for thing in wrong:
        values = (tried_edit(function, i, thing, each) for each in _true_values(function, i, thing))
        tried = [edit for edit in values if edit is not None]
        if function.states[i].get(thing) not in _IN_PLACE and thing not in function.given_back[i]:
            tried = [edit for edit in tried if _is_in_frame(edit.values.get(thing))] or tried
        best = max(tried, key=lambda edit: (len(edit.fixed), edit.end is None), default=None)
        if best is not None:
            found[thing] = best
    return found


def _is_in_frame(rule: StatePart) -> bool:
    return isinstance(rule, Offset) and rule.offset < 0


def saved_with(function: TriedFunction, i: int, found: Mapping[str, Edit]) -> dict[str, Edit]:
    """Registers that the same forgotten save is about: they lie in its slots. Perhaps a later instruction needs them.

    A push that the table was not told of moves the CFA at once. That it saved a register shows only where the register
    changes; one directive says the one, another the other, and the author forgot both in one place. Where a save was
    not told of, each other one is meant that was made by then and not told of either.
    """
    state, true = function.states[i], function.tried[i].true
    slots = set[int]()
    if any(_is_in_frame(edit.values.get(thing)) and state.get(thing) is None for thing, edit in found.items()):
        untold = (place.offsets for name, place in true.places.items() if state.get(name) is None)
        slots.update(offset for offsets in untold for offset in offsets if offset < 0)
    for thing, edit in found.items():
        rule, offset = state.get(thing), edit.values.get(CFA_OFFSET)
        if isinstance(rule, Offset):  # it is another register's
            slots.add(rule.offset)
        before = state.get(CFA_OFFSET)
        if isinstance(offset, int) and isinstance(before, int):
            slots.update(range(-offset, -before))
    more: dict[str, Edit] = {}
    for name in dict.fromkeys((*function.convention.judged, function.return_address(i))):
        place = true.places.get(name)
        offsets = sorted(slots & place.offsets, reverse=True) if place is not None and place.copied else []
        if offsets and name not in found and name not in function.wrong(i):
            later = next((j for j in range(i, len(function)) if name in function.wrong(j)), _NOBODY)
            # What its author says there he says of what he needs; and what he tells further down is not forgotten.
            is_told = any(isinstance(state.get(name), Offset) for state in function.states[i:])
            is_meant = later != _NOBODY or not (function.sets(i) or is_told)
            if is_meant and (tried := tried_edit(function, i, name, {name: Offset(offsets[0])}, later)) is not None:
                more[name] = tried
    return more


def _true_values(function: TriedFunction, i: int, thing: str) -> Iterator[Mapping[str, StatePart]]:
    """What could be said of a thing at an instruction: all that is true at its every visit, the plainest first."""
    state, true, arch = function.states[i], function.tried[i].true, function.arch
    if thing == THE_CFA:
        # Its author names one right here; or no distance from SP is a constant further down.
        others = arch.index if function.tried[i].pc in function.registers_said or function.moves_freely(i) else ()
        now = state.get(CFA_REGISTER)
        meant = [each for each in arch.index if each != now] if function.comes_back(i) else ()
        said = function.tried[i].pc in function.registers_said and state.get(CFA_OFFSET)
        if said and not (isinstance(now, str) and points_into(true, now, arch)):  # as far away as the one that is meant
            meant = [*meant, *(each for each in others if true.cfa.get(each) == said)]
        bases = (*meant, now, arch.sp, *arch.frame_pointers, *others)
        for base in dict.fromkeys(base for base in bases if isinstance(base, str)):
            if not points_into(true, base, arch) and (not said or true.cfa.get(base) != said):
                continue
            values: dict[str, StatePart] = {CFA_REGISTER: base, CFA_OFFSET: true.cfa[base]}
            yield {part: value for part, value in values.items() if state.get(part) != value}
    elif thing == THE_SIGNATURE:
        yield {SIGNED: true.signed}
    elif thing == function.return_address(i) and not true.called:
        yield {thing: Undefined()}
    elif thing in true.places:
        place = true.places[thing]
        if place.in_place and (state.get(thing) in _IN_PLACE or not function.saves_somewhere(i, thing)):
            yield {thing: None if thing in (*function.convention.judged, arch.link) else SameValue()}
        slots = [each for each in place.offsets if function.is_slot(i, thing, each)]
        for offset in sorted(slots, reverse=True):
            yield {thing: Offset(offset)}
        kept = place.in_place or any(offset < 0 for offset in slots)
        # A call behind may change what no function keeps; its author, who names one, has a contract with who is called.
        lasts = any(isinstance(span.state.get(thing), RegisterPlus) for span in function.spans)
        lasts = lasts or not any(each.pc in function.calls for each in function.tried[i:])
        for register in () if kept else sorted(place.registers, key=lambda name: arch.index[name]):
            if lasts or register in function.convention.preserved:
                yield {thing: RegisterPlus(register, 0)}


def tried_edit(
    function: TriedFunction, i: int, thing: str, values: Mapping[str, StatePart], helps: int | None = None
) -> Edit | None:
    """The edit for one wrong thing, tried; None where no directive says it, or where it does not help at ``helps``:
    ``i`` where nothing else is said, or `_NOBODY`.

    It ends where it would make anything wrong, and where what the table says too early is right: a save, or a return,
    that happened is told of, though the register, or the slot, may have the value still.
    """
    fixed: set[int] = set()
    end, last = None, i
    early = function.tells_early(i, thing)
    gives_back = function.states[i].get(thing) in (None, SameValue())
    for j, state in spread(function, i, values) if helps != _NOBODY else _held(function, i, values):
        old, last = function.states[j], j
        was, still = function.is_wrong(j, thing, old), function.is_wrong(j, thing, state)
        if (
            (fixed or helps == _NOBODY)
            and not was
            and function.is_below(j, thing, state)
            and not function.tells_no_return(j, thing)
            and state.get(thing) not in old.values()  # as another's it is told there, too
        ):
            end = j
            break
        meant = early and old.get(thing) == function.states[i].get(thing)
        if not was and (still or (fixed and meant and not (gives_back and function.tells_no_return(j, thing)))):
            end = j
            break
        if was and not still:
            fixed.add(j)
    if helps != _NOBODY and (i if helps is None else helps) not in fixed:
        return None
    if end is None and fixed and function.takes_back(i, values, max(fixed), last):
        return None
    if end is not None and not can_be_said(function, i, end, values):
        end = next((j for j in range(end, i, -1) if _can_be_restored(function, i, j)), i + 1)
        fixed = {j for j in fixed if j < end}
    return Edit(values, frozenset(fixed), end)


def can_be_said(function: TriedFunction, i: int, end: int, values: Mapping[str, StatePart]) -> bool:
    """Whether directives can give the old state back."""
    state = dict(spread(function, i, values)).get(end) or with_values(function.states[end], values)
    try:
        directives(state, function.states[end], function.arch)
    except ValueError:
        return False
    return True


def _can_be_restored(function: TriedFunction, i: int, end: int) -> bool:
    """Whether a state that is remembered before one instruction holds again at another, if it is restored there before
    all that the table says: what it said in between, it says anew."""
    return frozenset[str]().union(*(function.sets(j) for j in range(i + 1, end))) <= function.sets(end)


def apply_edit(function: TriedFunction, i: int, edit: Edit) -> None:
    """Change the states that an edit reaches."""
    for j, state in list(spread(function, i, edit.values)):
        if edit.end is not None and j >= edit.end:
            return
        function.states[j] = state
