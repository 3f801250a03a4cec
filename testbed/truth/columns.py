"""The truth as columns: a trait of many frames at once.

The same facts as `testbed.truth.frame_traits` gives one by one; a test holds them to those. Runs with signals have no
columns, so what is about signals is nowhere here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from testbed.truth.code_columns import TraitColumn, by_pc, calling_at, executing_at, functions, nowhere, standing_at
from testbed.truth.code_rules import runs, saved_in_front
from testbed.truth.frame_sites import FrameSite, FrameSites
from testbed.truth.frame_traits import RULES
from testbed.truth.link_columns import link_elsewhere, link_inside, link_live, link_outside, link_stale
from testbed.truth.pointer_columns import (
    at_return,
    called,
    callers,
    cfa_moved,
    for_locals,
    frameless_caller,
    last_record,
    leads,
    linked,
    on_return,
    record_apart,
    record_replaced,
    reuses_pointer,
    same_return,
    unlinked,
)
from testbed.truth.step_columns import (
    allocated_in_part,
    back_for_now,
    bare,
    below,
    changed,
    changed_inside,
    first,
    fp_set,
    fp_set_late,
    given_back_in_part,
    holding,
    jumped_to,
    returned,
    row_begins,
    without_effect,
)
from testbed.truth.transfers import Bools
from testbed.truth.watched import Watched
from testbed.words.traits import Trait


def trait_at(truth: Watched, at: FrameSites, trait: Trait) -> Bools:
    """For which of the frames the trace shows an observed trait."""
    return COLUMNS[trait](truth, at)


def _here(column: str) -> TraitColumn:
    def held(truth: Watched, at: FrameSites) -> Bools:
        found: Bools = getattr(truth.sites, column)[at.step] & (at.depth == 0)
        return found

    return held


def _one_by_one(trait: Trait) -> TraitColumn:
    """By its rule: these are for techniques that read the stack, one snapshot after the other."""
    rule = RULES[trait]

    def held(truth: Watched, at: FrameSites) -> Bools:
        columns = zip(*(column.tolist() for column in (at.step, at.depth, at.node, at.own, at.pc)), strict=True)
        return np.fromiter((rule(truth, FrameSite(*site)) for site in columns), np.bool_, len(at))

    return held


def _called_by_root(truth: Watched, at: FrameSites) -> Bools:
    parent = truth.activations.parent[at.node]
    return (parent >= 0) & (truth.activations.parent[parent] < 0)


def _mixed_isa(truth: Watched, at: FrameSites) -> Bools:
    isa = truth.sites.isa
    found: Bools = (isa[at.own] != isa[at.step]) | (isa[callers(truth, at).own] != isa[at.step])
    return found


def _signed(truth: Watched, at: FrameSites) -> Bools:
    return truth.signed[at.own]


def _tail_called(truth: Watched, at: FrameSites) -> Bools:
    pcs = truth.trace.pc
    first = by_pc(pcs[truth.activations.opened[at.node]], truth.named_function)
    here = by_pc(pcs[at.own], truth.named_function)
    different: Bools = (here != 0) & (first != here)
    return different


def _frame_elsewhere(truth: Watched, at: FrameSites) -> Bools:
    found: Bools = (at.depth == 0) & (truth.trace.sp[at.step] == truth.activations.entry_sp[at.node])
    framed = by_pc(truth.trace.pc[at.step], lambda pc: truth.function(pc) in truth.framed)
    found &= framed.astype(np.bool_) & ~truth.sites.prologue[at.step]
    return found


def _frame_in_part(truth: Watched, at: FrameSites) -> Bools:
    sp, entry = truth.trace.sp[at.step], truth.activations.entry_sp[at.node]
    found: Bools = (at.depth == 0) & (sp < entry)
    here = np.flatnonzero(found)
    found[here] = (entry - sp)[here] < by_pc(truth.trace.pc[at.step[here]], truth.largest_frame)
    return found


def _unsaved(truth: Watched, at: FrameSites) -> Bools:
    return _ahead(truth, at, truth.saves_until)


def _return_unsaved(truth: Watched, at: FrameSites) -> Bools:
    return _ahead(truth, at, truth.saves_return_until)


def _ahead(truth: Watched, at: FrameSites, until: Mapping[int, int]) -> Bools:
    """Where an interrupted frame is not behind a place in its function, which is given by function."""
    ahead = by_pc(truth.trace.pc[at.step], lambda pc: pc <= until.get(truth.function(pc), -1))
    found: Bools = (at.depth == 0) & ahead.astype(np.bool_)
    return found


def _changed_and_stored(truth: Watched, at: FrameSites) -> Bools:
    stores = executing_at(lambda truth, pc: truth.function(pc) in truth.stores_registers)
    return changed(truth, at) & stores(truth, at)


def _nameless(truth: Watched, at: FrameSites) -> Bools:
    further_out = callers(truth, at)
    found: Bools = (further_out.depth > at.depth) & by_pc(further_out.pc - np.uint64(1), truth.is_nameless).astype(
        np.bool_
    )
    return found


def _vector_restored(truth: Watched, at: FrameSites) -> Bools:
    vectors = truth.trace.registers[:, truth.vector_columns]
    if not ((vectors != vectors[:1]).any() or truth.vectors_changed.any()):  # nearly everywhere
        return nowhere(truth, at)
    return _one_by_one(Trait.VECTOR_RESTORED)(truth, at)


def _last_call(truth: Watched, at: FrameSites) -> Bools:
    found: Bools = (at.depth > 0) & (functions(truth, at.pc) != functions(truth, truth.trace.pc[at.own]))
    return found


_STANDS_BEHIND_OTHER = standing_at(Watched.has_other_in_front)

_ONE_BY_ONE = (
    *(Trait.RETURN_CHANGED, Trait.HAND_MADE, Trait.MOVED_UP, Trait.UNKEPT, Trait.KEPT_ELSEWHERE),
    *(Trait.FAR, Trait.DISTANT, Trait.LEFTOVER, Trait.COPIED, Trait.CODE_POINTER, Trait.APART, Trait.UNPUSHED),
    *(Trait.DATA_POINTER, Trait.LINKED_FURTHER, Trait.LINKED_FURTHER_ON, Trait.BEHIND_START),
)

COLUMNS: Mapping[Trait, TraitColumn] = MappingProxyType(
    {
        **{trait: _one_by_one(trait) for trait in _ONE_BY_ONE},
        Trait.PROLOGUE: _here("prologue"),
        Trait.EPILOGUE: _here("epilogue"),
        Trait.FRAMELESS: _here("frameless"),
        Trait.FRAMELESS_CALLER: frameless_caller,
        Trait.UNLINKED: unlinked,
        Trait.LINKED: linked,
        Trait.LAST_RECORD: last_record,
        Trait.RECORD_REPLACED: record_replaced,
        Trait.RECORD_APART: record_apart,
        Trait.FP_AT_RETURN: at_return,
        Trait.FP_REUSED: reuses_pointer,
        Trait.FP_FOR_LOCALS: for_locals,
        Trait.FP_BACK: back_for_now,
        Trait.FP_LEADS: leads,
        Trait.FP_BELOW: below,
        Trait.FP_MOVED_ON: standing_at(Watched.moves_pointer_before),
        Trait.FP_MOVED_IN_PART: standing_at(Watched.moves_pointer_around),
        Trait.FP_SET_LATE: fp_set_late,
        Trait.SETS_FP_LATE: executing_at(lambda truth, pc: truth.function(pc) in truth.sets_pointer_late),
        Trait.MIXED_ISA: _mixed_isa,
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
        Trait.OTHER_IN_FRONT: lambda truth, at: jumped_to(truth, at) & _STANDS_BEHIND_OTHER(truth, at),
        Trait.FIRST: first,
        Trait.PAST_ENTRY: standing_at(lambda truth, pc: truth.named_function(pc) != pc),
        Trait.ENTERED_FRAMED: executing_at(lambda truth, pc: truth.function(pc) in truth.entered_framed),
        Trait.FRAME_ELSEWHERE: _frame_elsewhere,
        Trait.FRAME_IN_PART: _frame_in_part,
        Trait.SAVES: executing_at(lambda truth, pc: truth.function(pc) in truth.saves_until),
        Trait.UNSAVED: _unsaved,
        Trait.RETURN_UNSAVED: _return_unsaved,
        Trait.RETURN_SAVED: standing_at(saved_in_front),
        Trait.PARTLY_RUN: standing_at(Watched.is_partly_run),
        Trait.PASSED_OVER: standing_at(Watched.is_passed_over),
        Trait.NAMELESS: _nameless,
        Trait.SP_SET: executing_at(lambda truth, pc: pc > truth.takes_from.get(truth.function(pc), pc)),
        Trait.CHANGED: changed,
        Trait.CHANGED_AND_STORED: _changed_and_stored,
        Trait.CHANGED_INSIDE: changed_inside,
        Trait.VECTOR_RESTORED: _vector_restored,
        Trait.BEHIND_LABEL: executing_at(lambda truth, pc: truth.label(pc) != truth.function(pc)),
        Trait.FRAMED_AT_LABEL: standing_at(Watched.is_framed_at_label),
        Trait.CALLER_FRAMED_AT_LABEL: calling_at(Watched.is_framed_at_label),
        Trait.LAST_CALL: _last_call,
        Trait.RETURN_RUNS: lambda truth, at: (at.depth > 0) & by_pc(at.pc, lambda pc: runs(truth, pc)).astype(np.bool_),
        Trait.SECOND_ISA: lambda truth, at: truth.sites.isa[at.own].astype(np.bool_),
        Trait.ROOT: lambda truth, at: ~called(truth, at),
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
        Trait.TAIL_CALLED: _tail_called,
        Trait.TRANSITION: lambda truth, at: truth.transition[at.step],
        Trait.SIGNAL: nowhere,
        Trait.INTERRUPTED: nowhere,
        Trait.HANDLER: nowhere,
        Trait.NO_CODE: nowhere,
        Trait.IN_NO_FILE: executing_at(Watched.is_in_no_file),
    }
)
"""Every observed trait: a test asks for the others to be declared."""
