"""Directives that would make a function's table right: found by trying them, in memory, on all of its instructions.

The function is gone through from its first wrong instruction to its last. There, for each thing that is wrong, every
value that is true at all visits is tried as a directive: it changes the state from there on, until the table says the
same part anew. Taken is what makes most instructions right and none wrong; where it would make a later one wrong, the
old state is given back before that. If a state that was right further up says it all, the advice is to go back to that.
All instructions that become right so have one cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER, SIGNED, FrameState, StatePart, changed, directives
from testbed.checks.tried_function import THE_CFA, THE_SIGNATURE, TriedFunction, parts_of
from testbed.checks.true_rows import TrueRow
from testbed.contract.rows import AtCfa, SameValue, Undefined

_REMEMBER, _RESTORE = ".cfi_remember_state", ".cfi_restore_state"


@dataclass(frozen=True, slots=True)
class Closing:
    """Directives that end what others began, before the instruction at ``pc``."""

    pc: int
    directives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for which the table is wrong at ``pcs``, first at ``pc``, in these ``things``.

    ``directives`` before ``pc`` make all of them right, together with the ``closings``; empty: nothing does.
    ``remembered`` is where the state is remembered that `.cfi_restore_state` goes back to.
    """

    pc: int
    things: tuple[str, ...]
    pcs: tuple[int, ...]
    directives: tuple[str, ...] = ()
    remembered: int | None = None
    closings: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True)
class _Edit:
    """New values of parts from one instruction on; ``fixed`` become right by it, ``end`` is the first to go wrong."""

    values: Mapping[str, StatePart]
    fixed: frozenset[int]
    end: int | None


def find_causes(function: TriedFunction) -> tuple[Cause, ...]:
    """Why a table is wrong in a function, in the order of addresses. The states are changed as the repairs say."""
    causes: list[Cause] = []
    told: set[tuple[int, str]] = set()
    for i in range(len(function)):
        # A return address that is there after all shows what else is wrong: so it may take more than one look.
        while wrong := frozenset(thing for thing in function.wrong(i) if (i, thing) not in told):
            causes += _causes_at(function, i, wrong, told)
    return tuple(causes)


def _causes_at(function: TriedFunction, i: int, wrong: frozenset[str], told: set[tuple[int, str]]) -> Iterator[Cause]:
    """Why an instruction is wrong in some things. All of these are right afterwards, or ``told``."""
    found = _edits(function, i, wrong)
    back = _back(function, i, wrong) if len(wrong) > 1 else None
    one_by_one = frozenset[int]().union(*(edit.fixed for edit in found.values()))
    if back is not None and (len(found) < len(wrong) or len(back[0].fixed) >= len(one_by_one)):
        yield _went_back(function, i, wrong, *back)
        return
    if found:
        yield _repaired(function, i, found)
    if rest := wrong - found.keys():
        yield _unrepaired(function, i, rest, told)


def _spread(function: TriedFunction, i: int, values: Mapping[str, StatePart]) -> Iterator[tuple[int, FrameState]]:
    """The states from an instruction on if directives say ``values`` before it, as far as that reaches."""
    live = dict(values)
    for j in range(i, len(function)):
        state = function.states[j]
        if j > i:
            if function.begins(j):
                return
            for part in function.sets(j):
                live.pop(part, None)
            if function.may_set(j):
                live = _without_what_is_set(function, j, live)
            if not live:
                return
        yield j, _with(state, live)


def _with(state: FrameState, values: Mapping[str, StatePart]) -> FrameState:
    """A state with other values of some parts. A sign state is not set but turned over."""
    turned = {SIGNED: not state.get(SIGNED)} if SIGNED in values else {}
    return {**state, **values, **turned}


def _without_what_is_set(function: TriedFunction, j: int, live: Mapping[str, StatePart]) -> dict[str, StatePart]:
    """The table says something here that it said already: that which is right, where the new values are not."""
    state = function.states[j]
    new = _with(state, live)
    ended = [part for thing in function.wrong(j, new) - function.wrong(j, state) for part in parts_of(thing)]
    return {part: value for part, value in live.items() if part not in ended}


def _edits(function: TriedFunction, i: int, wrong: Iterable[str]) -> dict[str, _Edit]:
    """For each wrong thing the value that makes most instructions right, where any makes this one right."""
    found: dict[str, _Edit] = {}
    for thing in wrong:
        tried = [_tried(function, i, thing, values) for values in _true_values(function, i, thing)]
        best = max(filter(None, tried), key=lambda edit: (len(edit.fixed), edit.end is None), default=None)
        if best is not None:
            found[thing] = best
    return found


def _true_values(function: TriedFunction, i: int, thing: str) -> Iterator[Mapping[str, StatePart]]:
    """What could be said of a thing at an instruction: all that is true at its every visit, the plainest first."""
    state, true, arch = function.states[i], function.tried[i].true, function.arch
    if function.row(i).signal_frame:  # its registers lie where the kernel puts them, not the code
        return
    if thing == THE_CFA:
        bases = (state.get(CFA_REGISTER), arch.sp, *arch.frame_pointers)
        for base in dict.fromkeys(base for base in bases if isinstance(base, str) and _points_into(true, base, arch)):
            values: dict[str, StatePart] = {CFA_REGISTER: base, CFA_OFFSET: true.cfa[base]}
            yield {part: value for part, value in values.items() if state.get(part) != value}
    elif thing == THE_SIGNATURE:
        yield {SIGNED: true.signed}
    elif thing == function.return_address(i) and not true.called:
        yield {thing: Undefined()}
    elif thing in true.places:
        place = true.places[thing]
        if place.in_place:
            yield {thing: None if thing in (*arch.preserved, arch.link) else SameValue()}
        for offset in sorted(place.offsets, reverse=True):
            yield {thing: AtCfa(offset)}


def _points_into(true: TrueRow, base: str, arch: Arch) -> bool:
    """Can a CFA be counted from this register? From SP; from one that the function has made to point into its frame."""
    if base == arch.sp or base not in true.cfa:
        return base in true.cfa
    place = true.places.get(base)
    return place is not None and not place.in_place and 0 <= true.cfa[base] <= (true.stack or 0)


def _tried(function: TriedFunction, i: int, thing: str, values: Mapping[str, StatePart]) -> _Edit | None:
    """What comes of a directive for one thing; None where it cannot be said, or does not help here."""
    fixed: set[int] = set()
    end = None
    for j, state in _spread(function, i, values):
        was, still = function.is_wrong(j, thing, function.states[j]), function.is_wrong(j, thing, state)
        if still and not was:
            end = j
            break
        if was and not still:
            fixed.add(j)
    if i not in fixed or (end is not None and not _can_be_said(function, i, end, values)):
        return None
    return _Edit(values, frozenset(fixed), end)


def _can_be_said(function: TriedFunction, i: int, end: int, values: Mapping[str, StatePart]) -> bool:
    """Whether directives can give the old state back."""
    state = dict(_spread(function, i, values))[end]
    try:
        directives(state, function.states[end], function.arch)
    except ValueError:
        return False
    return True


def _back(function: TriedFunction, i: int, wrong: frozenset[str]) -> tuple[_Edit, int] | None:
    """A state further up that makes all right here and nothing wrong later, and the instruction that had it last."""
    now, seen = function.states[i], list[FrameState]()
    for j in range(i - 1, -1, -1):
        state = function.states[j]
        if function.begins(j + 1):
            return None
        if state == now or state in seen:
            continue
        seen.append(state)
        if function.wrong(i, state) & wrong:
            continue
        values = {part: state.get(part) for part in changed(now, state)}
        fixed: set[int] = set()
        for k, new in _spread(function, i, values):
            before, after = function.wrong(k), function.wrong(k, new)
            if after - before:
                break
            if before and not after:
                fixed.add(k)
        else:
            return _Edit(values, frozenset(fixed), None), j
    return None


def _went_back(function: TriedFunction, i: int, wrong: frozenset[str], edit: _Edit, last: int) -> Cause:
    """The state of instruction ``last`` is restored: it has to be remembered before it is changed."""
    remembered = function.spans[function.tried[last].span].end
    cause = _cause(function, i, wrong, edit.fixed, (_RESTORE,), remembered)
    _apply(function, i, edit)
    return cause


def _repaired(function: TriedFunction, i: int, edits: Mapping[str, _Edit]) -> Cause:
    """The directives of some edits together, and what ends them."""
    before = function.states[i]
    values = {part: value for edit in edits.values() for part, value in edit.values.items()}
    after = next(_spread(function, i, values))[1]
    said = directives(before, after, function.arch)
    ends = sorted({edit.end for edit in edits.values() if edit.end is not None})
    closings = []
    for end in ends:
        ended = [edit for edit in edits.values() if edit.end == end]
        changes = {part: value for edit in ended for part, value in edit.values.items()}
        old = function.states[end]
        to_old = directives({**dict(_spread(function, i, changes))[end]}, old, function.arch)
        closings.append(Closing(function.tried[end - 1].pc + function.tried[end - 1].size, to_old))
    gives_all_back = len(ends) == 1 and all(edit.end is not None for edit in edits.values())
    if gives_all_back and changed(function.states[ends[0]], before) == frozenset() and set(values) != {SIGNED}:
        said, closings = (_REMEMBER, *said), [Closing(closings[0].pc, (_RESTORE,))]
    fixed = frozenset[int]().union(*(edit.fixed for edit in edits.values()))
    cause = _cause(function, i, edits.keys(), fixed, said, None, tuple(closings))
    for edit in edits.values():
        _apply(function, i, edit)
    return cause


def _unrepaired(function: TriedFunction, i: int, rest: frozenset[str], told: set[tuple[int, str]]) -> Cause:
    """Instructions from one on that are wrong in things that no directive makes right."""
    fixed = set()
    for j in range(i, len(function)):
        here = function.wrong(j) & rest
        if not here:
            break
        told |= {(j, thing) for thing in here}
        fixed.add(j)
    return _cause(function, i, rest, frozenset(fixed), ())


def _cause(
    function: TriedFunction,
    i: int,
    things: Iterable[str],
    fixed: frozenset[int],
    said: tuple[str, ...],
    remembered: int | None = None,
    closings: tuple[Closing, ...] = (),
) -> Cause:
    its = set(things)
    ordered = tuple(thing for thing in function.things(i, function.states[i]) if thing in its)
    pcs = tuple(function.tried[j].pc for j in sorted(fixed))
    return Cause(function.tried[i].pc, ordered, pcs, said, remembered, closings)


def _apply(function: TriedFunction, i: int, edit: _Edit) -> None:
    """Change the states that an edit reaches."""
    for j, state in list(_spread(function, i, edit.values)):
        if edit.end is not None and j >= edit.end:
            return
        function.states[j] = state
