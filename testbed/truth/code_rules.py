"""Rules that ask where a frame's code lies, or what other activations of its function do; and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from testbed.truth.frame_rules import changed, is_signal, stands_anywhere
from testbed.truth.frame_sites import FrameSite
from testbed.truth.watched import Watched
from testbed.words.traits import Trait


def holding(truth: Watched, at: FrameSite) -> bool:
    return not is_signal(truth, at) and int(truth.trace.sp[at.own]) != truth.activations[at.node].entry_sp


def same_return(truth: Watched, at: FrameSite) -> bool:
    """Of calls: what a signal goes back to was returned to by nobody."""
    activations = truth.activations
    activation = activations[at.node]
    if activation.parent is None or activation.signal or activations[activation.parent].signal:
        return False
    return activation.return_address == activations[activation.parent].return_address


def on_return(truth: Watched, at: FrameSite) -> bool:
    activation = truth.activations[at.node]
    here = activation.return_address == int(truth.trace.pc[at.own])
    return at.depth == 0 and here and activation.parent is not None and not activation.signal


def sets_fp_late(truth: Watched, at: FrameSite) -> bool:
    return not is_signal(truth, at) and truth.function(int(truth.trace.pc[at.own])) in truth.sets_pointer_late


def behind_start(truth: Watched, at: FrameSite) -> bool:
    pc, root = int(truth.trace.pc[at.own]), at.node
    if not stands_anywhere(truth, at) or truth.function(pc) != pc:
        return False
    while (parent := truth.activations[root].parent) is not None:
        root = parent
    return truth.function(pc - 1) == truth.function(int(truth.trace.pc[truth.activations[root].opened])) != pc


def passed_over(truth: Watched, at: FrameSite) -> bool:
    return stands_anywhere(truth, at) and truth.is_passed_over(int(truth.trace.pc[at.own]))


def past_entry(truth: Watched, at: FrameSite) -> bool:
    pc = int(truth.trace.pc[at.own])
    return stands_anywhere(truth, at) and truth.named_function(pc) != pc


def partly_run(truth: Watched, at: FrameSite) -> bool:
    return stands_anywhere(truth, at) and truth.is_partly_run(int(truth.trace.pc[at.own]))


def behind_label(truth: Watched, at: FrameSite) -> bool:
    pc = int(truth.trace.pc[at.own])
    return not is_signal(truth, at) and truth.label(pc) != truth.function(pc)


def last_call(truth: Watched, at: FrameSite) -> bool:
    if at.depth == 0 or stands_anywhere(truth, at) or is_signal(truth, at):
        return False
    return truth.function(at.pc) != truth.function(int(truth.trace.pc[at.own]))


def caller_framed_at_label(truth: Watched, at: FrameSite) -> bool:
    if at.depth == 0 or stands_anywhere(truth, at) or is_signal(truth, at):
        return False
    return truth.is_framed_at_label(int(truth.trace.pc[at.own]))


def changed_and_stored(truth: Watched, at: FrameSite) -> bool:
    return changed(truth, at) and truth.function(int(truth.trace.pc[at.own])) in truth.stores_registers


def sp_set(truth: Watched, at: FrameSite) -> bool:
    pc = int(truth.trace.pc[at.own])
    return not is_signal(truth, at) and pc > truth.takes_from.get(truth.function(pc), pc)


def runs(truth: Watched, pc: int) -> bool:
    """Was an instruction at this address executed?"""
    executed = truth.executed[:, 0]
    place = int(np.searchsorted(executed, np.uint64(pc)))
    return place < len(executed) and int(executed[place]) == pc


def return_runs(truth: Watched, at: FrameSite) -> bool:
    return not (at.depth == 0 or stands_anywhere(truth, at) or is_signal(truth, at)) and runs(truth, at.pc)


def saved_in_front(truth: Watched, pc: int) -> bool:
    """Does a function store its return address at an instruction in front of this one?"""
    places, start = truth.return_saving_pcs, truth.function(pc)
    first = int(np.searchsorted(places, np.uint64(start)))
    return first < len(places) and int(places[first]) < pc


def return_saved(truth: Watched, at: FrameSite) -> bool:
    return stands_anywhere(truth, at) and saved_in_front(truth, int(truth.trace.pc[at.own]))


def saves(truth: Watched, at: FrameSite) -> bool:
    return truth.function(int(truth.trace.pc[at.own])) in truth.saves_until


OF_CODE: Mapping[Trait, Callable[[Watched, FrameSite], bool]] = MappingProxyType(
    {
        Trait.PAST_ENTRY: past_entry,
        Trait.RETURN_RUNS: return_runs,
        Trait.RETURN_SAVED: return_saved,
        Trait.SAVES: saves,
        Trait.PASSED_OVER: passed_over,
        Trait.PARTLY_RUN: partly_run,
    }
)
"""Those of them that say where an instruction lies among its function's, and whether it runs."""
