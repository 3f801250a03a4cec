"""Directives that would make a function's table right: found by trying them, in memory, on all of its instructions.

The function is gone through from its first wrong instruction to its last. There, for each thing that is wrong, every
value that is true at all visits is tried as a directive: it changes the state from there on, until the table says the
same part anew. Taken is what makes most instructions right and none wrong; where it would make a later one wrong, the
old state is given back before that. If a state that was right further up says it all, the advice is to go back to that.
All instructions that become right so have one cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from testbed.checks.adjustments import Adjustment, adjusted
from testbed.checks.edits import Edit, apply_edit, can_be_said, edits_of, saved_with, spread, tried_edit, with_values
from testbed.checks.frame_states import (
    CFA_OFFSET,
    CFA_PARTS,
    CFA_REGISTER,
    SIGNED,
    FrameState,
    StatePart,
    changed,
    directives,
)
from testbed.checks.source_directives import DEF_CFA_REGISTER, REMEMBER_STATE, RESTORE_STATE
from testbed.checks.tried_function import THE_CFA, THE_SIGNATURE, TriedFunction
from testbed.contract.rows import Offset

_FEW = 2  # directives that are said one by one rather than by going back to a remembered state


@dataclass(frozen=True, slots=True)
class Closing:
    """Directives that end what others began, before the instruction at ``pc``; one ``until`` which they may stand."""

    pc: int
    directives: tuple[str, ...]
    until: int


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for which the table is wrong at ``pcs``, first at ``pc``, in these ``things``.

    ``directives`` before ``pc`` make all of them right, together with the ``closings``; empty: nothing does.
    ``remembered`` is where the state is remembered that `.cfi_restore_state` goes back to. ``replaced`` is a
    directive in the source that they stand for, and the pc behind it. ``again`` are those that a source needs where it
    says further down again what is wrong: the CFA is off by as much.
    """

    pc: int
    things: tuple[str, ...]
    pcs: tuple[int, ...]
    directives: tuple[str, ...] = ()
    remembered: int | None = None
    closings: tuple[Closing, ...] = ()
    replaced: tuple[int, str] | None = None
    again: tuple[Cause, ...] = ()

    @property
    def all_pcs(self) -> tuple[int, ...]:
        return tuple(sorted({*self.pcs}.union(*(each.pcs for each in self.again))))


def find_causes(function: TriedFunction) -> tuple[Cause, ...]:
    """Why a table is wrong in a function, in the order of addresses. The states are changed as the repairs say."""
    causes, before = list[Cause](), list(function.states)
    told: set[tuple[int, str]] = set()
    for i in range(len(function)):
        # A return address that is there after all shows what else is wrong: so it may take more than one look.
        while wrong := frozenset(thing for thing in function.wrong(i) if (i, thing) not in told):
            if not _follows(function, i, wrong, causes):
                causes += _causes_at(function, i, wrong, told)
    joined: list[Cause] = []
    for cause in causes:
        if joined and _says_again(function, before, joined[-1], cause):
            joined[-1] = replace(joined[-1], again=(*joined[-1].again, cause))
        elif joined and _goes_on(function, joined[-1], cause):
            joined[-1] = _with_step(function, joined[-1], cause)
        else:
            joined.append(cause)
    return tuple(joined)


def _says_again(function: TriedFunction, before: Sequence[FrameState], first: Cause, cause: Cause) -> bool:
    """Does the source give an offset of the CFA, behind a wrong instruction of a cause, that is off by as much?"""
    i = next(i for i, each in enumerate(function.tried) if each.pc == cause.pc)
    if cause.pc not in function.counted or not i or function.begins(i) or function.tried[i - 1].pc not in first.all_pcs:
        return False
    off, places = _off(function, i, before[i]), function.tried[i].true.places
    slots = {name: before[i].get(name) for name in cause.things if name != THE_CFA}
    return (
        bool(cause.directives and off and off == _off(function, i - 1, before[i - 1]))
        and cause.remembered is None is cause.replaced
        and all(isinstance(rule, Offset) and rule.offset - off in places[name].offsets for name, rule in slots.items())
    )


def _goes_on(function: TriedFunction, first: Cause, cause: Cause) -> bool:
    """Is a cause one more step, of which the table says nothing, of a frame that is made or taken back?

    What ends one of the steps then ends them all, and none of them is right without the others.
    """
    i = next(i for i, each in enumerate(function.tried) if each.pc == cause.pc)
    ends = {each.pc: {*each.directives} for each in first.closings}
    return (
        i > 0
        and function.tried[i - 1].pc in first.pcs
        and function.tried[i - 1].span == function.tried[i].span
        and THE_CFA in cause.things
        and bool(cause.closings)
        and all(
            {*each.directives} <= ends.get(each.pc, set()) or RESTORE_STATE in ends.get(each.pc, set())
            for each in cause.closings
        )
        and REMEMBER_STATE not in cause.directives
        and first.replaced is cause.replaced is None
    )


def _with_step(function: TriedFunction, first: Cause, cause: Cause) -> Cause:
    """A cause and one more step of the frame: its directives stand between those of the first and what ends both."""
    i = next(i for i, each in enumerate(function.tried) if each.pc == cause.pc)
    pc = _behind(function, i - 1)
    here = next((each for each in first.closings if each.pc == pc), Closing(pc, (), cause.pc))
    its = (
        *(each for each in first.closings if each is not here),
        replace(here, directives=cause.directives + here.directives),
    )
    pcs = tuple(sorted({*first.pcs, *cause.pcs}))
    return replace(first, pcs=pcs, closings=tuple(sorted(its, key=lambda each: each.pc)))


def _off(function: TriedFunction, i: int, state: FrameState) -> int:
    """By how much the true CFA is above that of a state; 0, too, where one of them is no distance."""
    said, true = state.get(CFA_OFFSET), function.tried[i].true.cfa.get(str(state.get(CFA_REGISTER)))
    return true - said if isinstance(said, int) and true is not None else 0


def _follows(function: TriedFunction, i: int, wrong: frozenset[str], causes: list[Cause]) -> bool:
    """Is a wrong state restored here that was made right further up? What is remembered is then right, too.

    The instructions that become right by it are added to that cause.
    """
    if function.tried[i].pc not in function.restored:
        return False
    now = function.spans[function.tried[i].span].state
    for m in range(i - 1, -1, -1):
        if function.begins(m + 1):
            return False
        repaired, pc = function.states[m], function.tried[m].pc
        was_so = function.spans[function.tried[m].span].state == now != repaired
        gone = wrong - function.wrong(i, repaired) if was_so else frozenset()
        edit = _restored(function, i, gone, repaired) if gone else None
        k = next((k for k, cause in enumerate(causes) if pc in cause.pcs), None)
        if edit is not None and k is not None:
            more = (function.tried[j].pc for j in edit.fixed)
            ends = _ended(function, _ends_behind(function, i, edit))
            pcs, closings = tuple(sorted({*causes[k].pcs, *more})), (*causes[k].closings, *ends)
            causes[k] = replace(causes[k], pcs=pcs, closings=closings)
            apply_edit(function, i, edit)
            return True
    return False


def _ends_behind(function: TriedFunction, i: int, edit: Edit) -> dict[int, tuple[str, ...]]:
    """The directives that end an edit where the table says nothing of what goes wrong there, if anything does."""
    end = edit.end if edit.end is not None else [j for j, _ in spread(function, i, edit.values)][-1] + 1
    if end >= len(function) or function.begins(end):
        return {}
    old = function.states[end]
    new = with_values(old, {part: value for part, value in edit.values.items() if part not in function.sets(end)})
    return {end: directives(new, old, function.arch)} if function.wrong(end, new) - function.wrong(end, old) else {}


def _causes_at(function: TriedFunction, i: int, wrong: frozenset[str], told: set[tuple[int, str]]) -> Iterator[Cause]:
    """Why an instruction is wrong in some things. All of these are right afterwards, or ``told``."""
    found = edits_of(function, i, wrong)
    if THE_CFA not in found and function.is_wrong(i, THE_CFA, function.states[i]):  # no slot is found from it
        found = {thing: edit for thing, edit in found.items() if not isinstance(edit.values.get(thing), Offset)}
    kept = wrong & {THE_CFA, THE_SIGNATURE, function.return_address(i), *function.convention.judged}
    back = _back(function, i, wrong) if len(kept) > 1 else None
    one_by_one = frozenset[int]().union(*(edit.fixed for edit in found.values()))
    if back is not None and (not kept <= found.keys() or len(back[0].fixed) >= len(one_by_one)):
        yield _went_back(function, i, wrong, *back)
        return
    if THE_CFA in found and (register := _other_register(function, i, found)):
        yield register
        return
    relative = adjusted(function, i) if THE_CFA in found and _whole_end(function, i, found) is None else None
    if relative is not None and found[THE_CFA].fixed <= relative.fixed:
        yield _adjusted(function, i, found, relative)
    elif found:
        yield _repaired(function, i, found, saved_with(function, i, found))
    if rest := wrong - found.keys():
        yield _unrepaired(function, i, rest, told)


def _other_register(function: TriedFunction, i: int, found: Mapping[str, Edit]) -> Cause | None:
    """Another register where the source says further up from which the CFA is counted, and that changed nothing."""
    for j in range(i, -1, -1):
        pc = function.tried[j].pc
        said = function.registers_said.get(pc, "")
        if said.startswith(f"{DEF_CFA_REGISTER} ") and not function.sets(j) & {*CFA_PARTS}:
            for name in function.arch.frame_pointers:
                edit = tried_edit(function, j, THE_CFA, {CFA_REGISTER: name}, i)
                if edit is not None and _ends_there(function, edit) and found[THE_CFA].fixed <= edit.fixed:
                    cause = _cause(function, i, (THE_CFA,), edit.fixed, (f"{DEF_CFA_REGISTER} {name}",))
                    apply_edit(function, j, edit)
                    return replace(cause, replaced=(pc, said))
        if function.begins(j) or function.sets(j) & {*CFA_PARTS}:
            return None
    return None


def _ends_there(function: TriedFunction, edit: Edit) -> bool:
    """Does nothing go wrong by it, or nothing before the source says the register anew?"""
    return edit.end is None or function.tried[edit.end].pc in function.registers_said


def _back(function: TriedFunction, i: int, wrong: frozenset[str]) -> tuple[Edit, int] | None:
    """A state further up that makes all right here and nothing wrong later, and the instruction that had it last.

    Of several the one that makes most instructions right: an epilogue takes a frame back in steps.
    """
    now, seen = function.states[i], list[FrameState]()
    best: tuple[Edit, int] | None = None
    for j in range(i - 1, -1, -1):
        state = function.states[j]
        # Where its author restores a state in between, he would restore this one.
        if function.begins(j + 1) or (j + 1 < i and function.tried[j + 1].pc in function.restored):
            break
        if state == now or state in seen:
            continue
        seen.append(state)
        edit = _restored(function, i, wrong, state) if not function.wrong(i, state) & wrong else None
        if edit is not None and (best is None or len(edit.fixed) > len(best[0].fixed)):
            best = edit, j
    return best


def _restored(function: TriedFunction, i: int, wrong: frozenset[str], state: FrameState) -> Edit | None:
    """What comes of another state from an instruction on; None where it makes something wrong.

    An instruction may be wrong in what was told before, too: it counts if all of ``wrong`` is right there.
    """
    values = {part: state.get(part) for part in changed(function.states[i], state)}
    fixed, k = set[int](), i
    for k, new in spread(function, i, values):
        before, after = function.wrong(k), function.wrong(k, new)
        if after - before:
            says = any(function.may_set(j) for j in range(i + 1, k + 1))  # what changed nothing, and does then
            return Edit(values, frozenset(fixed), k) if says else None
        if (before and not after) or (before & wrong and not after & wrong):
            fixed.add(k)
    return None if fixed and function.takes_back(i, values, max(fixed), k) else Edit(values, frozenset(fixed), None)


def _went_back(function: TriedFunction, i: int, wrong: frozenset[str], edit: Edit, last: int) -> Cause:
    """The state of instruction ``last`` is restored: it is remembered before the table or an advice changes it."""
    remembered = min(function.spans[function.tried[last].span].end, function.tried[last + 1].pc)
    cause = _cause(function, i, wrong, edit.fixed, (RESTORE_STATE,), remembered)
    apply_edit(function, i, edit)
    return cause


def _repaired(function: TriedFunction, i: int, found: Mapping[str, Edit], more: Mapping[str, Edit]) -> Cause:
    """The directives of some edits together, and what ends them; ``more`` are of things that are wrong later."""
    edits = {**found, **more}
    before = function.states[i]
    values = {part: value for edit in edits.values() for part, value in edit.values.items()}
    after = next(spread(function, i, values))[1]
    said = directives(before, after, function.arch)
    if (whole := _whole_end(function, i, edits)) is not None:
        edits = {
            name: replace(e, end=whole, fixed=frozenset(k for k in e.fixed if k < whole)) for name, e in edits.items()
        }
        is_said = function.tried[whole].pc in function.restored
        said = said if is_said else (REMEMBER_STATE, *said)
        closings: dict[int, tuple[str, ...]] = {} if is_said else {whole: (RESTORE_STATE,)}
    else:
        closings = _closings(function, i, edits.values())
    gives_all_back = len(closings) == 1 and all(edit.end is not None for edit in edits.values())
    end = next(iter(closings), 0)
    long = gives_all_back and len(closings[end]) > _FEW and not changed(function.states[end], before)
    if (
        long
        and whole is None
        and set(values) != {SIGNED}
        and not any(function.sets(j) or function.may_set(j) for j in range(i + 1, end + 1))
    ):
        said, closings = (REMEMBER_STATE, *said), {end: (RESTORE_STATE,)}
    fixed = frozenset[int]().union(*(edit.fixed for edit in edits.values()))
    ended = _ended(function, closings)
    cause = _cause(function, i, found.keys(), fixed, said, None, ended)
    for edit in edits.values():
        apply_edit(function, i, edit)
    return cause


def _whole_end(function: TriedFunction, i: int, edits: Mapping[str, Edit]) -> int | None:
    """Where a state is given back as a whole, since it has a part that no directive says: an expression."""
    ends = [(edit.end, edit.values) for edit in edits.values() if edit.end is not None]
    if all(can_be_said(function, i, end, values) for end, values in ends):
        return None
    return min(end for end, _ in ends)


def _adjusted(function: TriedFunction, i: int, found: Mapping[str, Edit], relative: Adjustment) -> Cause:
    """A forgotten `.cfi_adjust_cfa_offset`, with the directives of what else is wrong there."""
    more = saved_with(function, i, found)
    edits = {thing: edit for thing, edit in {**found, **more}.items() if thing != THE_CFA}
    before = function.states[i]
    values = {part: value for edit in edits.values() for part, value in edit.values.items()}
    said = (relative.directive, *directives(before, with_values(before, values), function.arch))
    closings = _closings(function, i, edits.values())
    if relative.end is not None:
        closings[relative.end] = (relative.closing, *closings.get(relative.end, ()))
    fixed = relative.fixed.union(*(edit.fixed for edit in edits.values()))
    ended = _ended(function, closings)
    for j, state in relative.states.items():
        function.states[j] = state
    for edit in edits.values():
        apply_edit(function, i, edit)
    return _cause(function, i, found.keys(), fixed, said, None, ended)


def _ended(function: TriedFunction, closings: Mapping[int, tuple[str, ...]]) -> tuple[Closing, ...]:
    its = sorted(closings.items())
    return tuple(Closing(_behind(function, j - 1), said, function.tried[j].pc) for j, said in its)


def _closings(function: TriedFunction, i: int, edits: Iterable[Edit]) -> dict[int, tuple[str, ...]]:
    """The directives that give the old state back, by the first instruction that needs it."""
    changes: dict[int, dict[str, StatePart]] = {}
    for edit in edits:
        end = edit.end if edit.end is not None else _doubtful_end(function, i, edit.values)
        if end is not None:
            changes.setdefault(end, {}).update(edit.values)
    return {
        end: directives(with_values(function.states[end], values), function.states[end], function.arch)
        for end, values in changes.items()
    }


def _doubtful_end(function: TriedFunction, i: int, values: Mapping[str, StatePart]) -> int | None:
    """Where an edit may end although the directive there changes nothing: perhaps that only remembers the state."""
    reached = [j for j, _ in spread(function, i, values)][-1] + 1
    if reached >= len(function) or function.begins(reached) or function.sets(reached) & values.keys():
        return None
    old = function.states[reached]
    later = [function.states[j] for j in range(reached, len(function))]
    left = next((k for k, state in enumerate(later) if state != old), len(later))
    return reached if old in later[left:] else None


def _behind(function: TriedFunction, i: int) -> int:
    return function.tried[i].pc + function.tried[i].size


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
