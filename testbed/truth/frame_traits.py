"""What the trace shows about one frame at one step: the specification of `testbed.truth.columns`.

Each trait has a rule of its own, from registers, memory and activations alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from testbed.image import image_covering
from testbed.truth.code_rules import (
    OF_CODE,
    behind_label,
    behind_start,
    caller_framed_at_label,
    changed_and_stored,
    holding,
    last_call,
    on_return,
    same_return,
    sets_fp_late,
    sp_set,
)
from testbed.truth.frame_rules import (
    allocated_in_part,
    at_return,
    back_for_now,
    bare,
    below,
    called,
    cfa_moved,
    changed,
    changed_inside,
    entered_framed,
    for_locals,
    fp_set,
    fp_set_late,
    frame_in_part,
    framed_at_label,
    frameless_caller,
    given_back_in_part,
    hand_made,
    handler,
    interrupted,
    is_signal,
    jumped_to,
    last_record,
    linked,
    mixed_isa,
    moved_in_part,
    moved_on,
    moved_up,
    nameless,
    other_in_front,
    returned,
    reuses_pointer,
    row_begins,
    stands_anywhere,
    unlinked,
    vector_restored,
    without_effect,
)
from testbed.truth.frame_sites import FrameSite
from testbed.truth.further_records import leads, linked_further, linked_further_on, record_apart, record_replaced
from testbed.truth.link_rules import link_address, link_elsewhere, link_inside, link_live, link_outside, link_stale
from testbed.truth.stack_words import DISTANT, own_part, shadow_top
from testbed.truth.watched import Watched
from testbed.words.traits import NARROWED, Trait

TraitRule = Callable[[Watched, FrameSite], bool]


def _here(column: str) -> TraitRule:
    """A column of `SiteFacts` that says something about an activation that stands anywhere."""
    return lambda truth, at: bool(getattr(truth.sites, column)[at.own]) and stands_anywhere(truth, at)


def _called_by_root(truth: Watched, at: FrameSite) -> bool:
    parent = truth.activations[at.node].parent
    return parent is not None and truth.activations[parent].parent is None


def _signed(truth: Watched, at: FrameSite) -> bool:
    return bool(truth.signed[at.own]) and not is_signal(truth, at)


def tail_called(truth: Watched, at: FrameSite) -> bool:
    """A symbol says which function this is, and the activation began in none or another. Without one nobody can say."""
    if is_signal(truth, at):  # its first step is its handler's: it has not run yet
        return False
    here, begun = (int(truth.trace.pc[step]) for step in (at.own, truth.activations[at.node].opened))
    return truth.named_function(here) not in (0, truth.named_function(begun))


def _no_code(truth: Watched, at: FrameSite) -> bool:
    """Only where a signal came instead of an instruction can there be none; there, and of whoever it returns to."""
    trace, activation = truth.trace, truth.activations[at.node]
    if activation.signal:
        return image_covering(trace.images, activation.return_address or 0) is None
    return stands_anywhere(truth, at) and trace.interrupted(at.own) and image_covering(trace.images, at.pc) is None


def _in_no_file(truth: Watched, at: FrameSite) -> bool:
    """A pc at which a signal came instead of an instruction is no code at all."""
    executed = not is_signal(truth, at) and not truth.trace.interrupted(at.own)
    return executed and truth.is_in_no_file(int(truth.trace.pc[at.own]))


def _unpushed(truth: Watched, at: FrameSite) -> bool:
    """Only where code keeps a shadow call stack."""
    address = truth.activations[at.node].return_address
    return at.depth == 0 and address is not None and shadow_top(truth, at.step) not in (None, address)


def _frame_elsewhere(truth: Watched, at: FrameSite) -> bool:
    if not stands_anywhere(truth, at) or int(truth.trace.sp[at.own]) != truth.activations[at.node].entry_sp:
        return False
    return not truth.sites.prologue[at.own] and truth.function(int(truth.trace.pc[at.own])) in truth.framed


def _unsaved(truth: Watched, at: FrameSite) -> bool:
    pc = int(truth.trace.pc[at.own])
    return stands_anywhere(truth, at) and pc <= truth.saves_until.get(truth.function(pc), -1)


def _return_unsaved(truth: Watched, at: FrameSite) -> bool:
    pc = int(truth.trace.pc[at.own])
    return stands_anywhere(truth, at) and pc <= truth.saves_return_until.get(truth.function(pc), -1)


def _return_changed(truth: Watched, at: FrameSite) -> bool:
    """What stands at the return place, the link register or the word that the call pushed, is where control will go."""
    activation, trace = truth.activations[at.node], truth.trace
    if at.depth or activation.goes_on is None or activation.cfa is None:
        return False
    if trace.arch.link is not None:
        return link_address(truth, at) == activation.goes_on
    kept, mapped = truth.words.at(np.array([at.step]), np.array([activation.cfa - trace.arch.entry_cfa], np.uint64))
    return bool(mapped[0]) and int(kept[0]) == activation.goes_on


def _distant(truth: Watched, at: FrameSite) -> bool:
    cfa = truth.activations[at.node].cfa
    return called(truth, at) and cfa is not None and cfa - int(truth.trace.sp[at.step]) > DISTANT


def _kept_elsewhere(truth: Watched, at: FrameSite) -> bool:
    saves = truth.function(int(truth.trace.pc[at.own])) in truth.saves_return_until
    return saves and called(truth, at) and not own_part(truth, at.step, at.depth).kept


RULES: Mapping[Trait, TraitRule] = MappingProxyType(
    {
        **OF_CODE,
        Trait.PROLOGUE: _here("prologue"),
        Trait.EPILOGUE: _here("epilogue"),
        Trait.FRAMELESS: _here("frameless"),
        Trait.FRAMELESS_CALLER: frameless_caller,
        Trait.UNLINKED: unlinked,
        Trait.LINKED: linked,
        Trait.LINKED_FURTHER: linked_further,
        Trait.LINKED_FURTHER_ON: linked_further_on,
        Trait.LAST_RECORD: last_record,
        Trait.RECORD_REPLACED: record_replaced,
        Trait.RECORD_APART: record_apart,
        Trait.FP_AT_RETURN: at_return,
        Trait.FP_REUSED: reuses_pointer,
        Trait.FP_FOR_LOCALS: for_locals,
        Trait.FP_BACK: back_for_now,
        Trait.FP_LEADS: leads,
        Trait.FP_BELOW: below,
        Trait.FP_MOVED_ON: moved_on,
        Trait.FP_MOVED_IN_PART: moved_in_part,
        Trait.FP_SET_LATE: fp_set_late,
        Trait.SETS_FP_LATE: sets_fp_late,
        Trait.MIXED_ISA: mixed_isa,
        Trait.ROW_BEGINS: row_begins,
        Trait.CFA_MOVED: cfa_moved,
        Trait.FP_SET: fp_set,
        Trait.ALLOCATED_IN_PART: allocated_in_part,
        Trait.GIVEN_BACK_IN_PART: given_back_in_part,
        Trait.WITHOUT_EFFECT: without_effect,
        Trait.BARE: bare,
        Trait.HOLDING: holding,
        Trait.RETURNED: returned,
        Trait.JUMPED_TO: jumped_to,
        Trait.OTHER_IN_FRONT: other_in_front,
        Trait.FIRST: lambda truth, at: at.depth == 0 and truth.activations[at.node].opened == at.own,
        Trait.ENTERED_FRAMED: entered_framed,
        Trait.FRAME_ELSEWHERE: _frame_elsewhere,
        Trait.FRAME_IN_PART: frame_in_part,
        Trait.UNSAVED: _unsaved,
        Trait.RETURN_UNSAVED: _return_unsaved,
        Trait.NAMELESS: nameless,
        Trait.RETURN_CHANGED: _return_changed,
        Trait.HAND_MADE: hand_made,
        Trait.SP_SET: sp_set,
        Trait.MOVED_UP: moved_up,
        Trait.CHANGED: changed,
        Trait.CHANGED_AND_STORED: changed_and_stored,
        Trait.CHANGED_INSIDE: changed_inside,
        Trait.VECTOR_RESTORED: vector_restored,
        Trait.BEHIND_LABEL: behind_label,
        Trait.BEHIND_START: behind_start,
        Trait.FRAMED_AT_LABEL: framed_at_label,
        Trait.CALLER_FRAMED_AT_LABEL: caller_framed_at_label,
        Trait.LAST_CALL: last_call,
        Trait.SECOND_ISA: lambda truth, at: bool(truth.sites.isa[at.own]),
        Trait.ROOT: lambda truth, at: not called(truth, at),
        Trait.CALLED: called,
        Trait.CALLED_BY_ROOT: _called_by_root,
        Trait.SAME_RETURN: same_return,
        Trait.ON_RETURN: on_return,
        Trait.LINK_LIVE: link_live,
        Trait.LINK_STALE: link_stale,
        Trait.LINK_INSIDE: link_inside,
        Trait.LINK_OUTSIDE: link_outside,
        Trait.LINK_ELSEWHERE: link_elsewhere,
        Trait.SIGNED: _signed,
        Trait.UNKEPT: lambda truth, at: called(truth, at) and not own_part(truth, at.step, at.depth).kept,
        Trait.KEPT_ELSEWHERE: _kept_elsewhere,
        Trait.FAR: lambda truth, at: own_part(truth, at.step, at.depth).far,
        Trait.DISTANT: _distant,
        Trait.LEFTOVER: lambda truth, at: own_part(truth, at.step, at.depth).left,
        Trait.COPIED: lambda truth, at: own_part(truth, at.step, at.depth).copied,
        Trait.CODE_POINTER: lambda truth, at: own_part(truth, at.step, at.depth).pointer,
        Trait.DATA_POINTER: lambda truth, at: own_part(truth, at.step, at.depth).data,
        Trait.APART: lambda truth, at: own_part(truth, at.step, at.depth).apart,
        Trait.UNPUSHED: _unpushed,
        Trait.TAIL_CALLED: tail_called,
        Trait.TRANSITION: lambda truth, at: bool(truth.sites.transition[at.step]),
        Trait.SIGNAL: is_signal,
        Trait.INTERRUPTED: interrupted,
        Trait.HANDLER: handler,
        Trait.NO_CODE: _no_code,
        Trait.IN_NO_FILE: _in_no_file,
    }
)
"""Every observed trait: a test asks for the others to be declared."""


class LazyTraits:
    """The traits of one frame, observed and declared: each is found out when it is asked for."""

    def __init__(
        self, truth: Watched, at: FrameSite, declared: frozenset[Trait], certain: frozenset[Trait] = frozenset()
    ) -> None:
        self._truth, self._at, self._declared, self._certain = truth, at, declared, certain
        self._known: dict[Trait, bool] = {}

    def __contains__(self, trait: object) -> bool:
        if not isinstance(trait, Trait):
            return False
        if trait not in self._known:
            self._known[trait] = self._holds(trait)
        return self._known[trait]

    def _holds(self, trait: Trait) -> bool:
        if not trait.declared:
            return RULES[trait](self._truth, self._at)
        if trait in self._certain or trait not in self._declared:
            return trait in self._certain
        return trait not in NARROWED or any(narrowing in self for narrowing in NARROWED[trait])


# Of frames further out, what a site is said to have as well: the others belong to the innermost one.
OUTER = frozenset(
    {
        *(Trait.FRAMELESS_CALLER, Trait.FP_REUSED, Trait.SIGNED, Trait.TAIL_CALLED),
        *(Trait.SIGNAL, Trait.INTERRUPTED, Trait.NO_CODE),
    }
)
