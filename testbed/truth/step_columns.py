"""Columns of traits about an interrupted frame's own steps: the one in front of it, and the one behind it.

The readable rules are in `testbed.truth.frame_rules`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.truth.frame_sites import FrameSites
from testbed.truth.transfers import Bools
from testbed.truth.watched import Watched


def steps_in_front(truth: Watched, at: FrameSites) -> NDArray[np.int64]:
    """The activation's step before this one: the call, if one has just come back; -1: there is none."""
    before = at.step - 1
    inner = truth.node[np.maximum(before, 0)]
    came_back = truth.activations.parent[inner] == at.node
    found = np.where(inner == at.node, before, np.where(came_back, truth.activations.opened[inner] - 1, -1))
    first = (before < 0) | (truth.activations.opened[at.node] == at.step) | (at.depth > 0)
    return np.where(first, -1, found)


def row_begins(truth: Watched, at: FrameSites) -> Bools:
    before, sp, pointer = steps_in_front(truth, at), truth.trace.sp, truth.sites.frame_pointer
    changed = (sp[before] != sp[at.step]) | (pointer[before] != pointer[at.step])
    found: Bools = (before >= 0) & (changed | (truth.signed[before] != truth.signed[at.step]))
    return found


def jumped_to(truth: Watched, at: FrameSites) -> Bools:
    before, trace = steps_in_front(truth, at), truth.trace
    found: Bools = (before == at.step - 1) & (before >= 0)
    found &= trace.pc[before] + trace.sizes[before] != trace.pc[at.step]
    return found


def returned(truth: Watched, at: FrameSites) -> Bools:
    before = steps_in_front(truth, at)
    found: Bools = (before >= 0) & (before != at.step - 1)
    return found


def bare(truth: Watched, at: FrameSites) -> Bools:
    found: Bools = (at.depth == 0) & (truth.trace.sp[at.step] == truth.activations.entry_sp[at.node])
    return found


def holding(truth: Watched, at: FrameSites) -> Bools:
    found: Bools = truth.trace.sp[at.own] != truth.activations.entry_sp[at.node]
    return found


def first(truth: Watched, at: FrameSites) -> Bools:
    found: Bools = (at.depth == 0) & (truth.activations.opened[at.node] == at.own)
    return found


def back_for_now(truth: Watched, at: FrameSites) -> Bools:
    sites = truth.sites
    found: Bools = ~(sites.moved | sites.prologue | sites.epilogue | sites.frameless)[at.step] & (at.depth == 0)
    return found


def below(truth: Watched, at: FrameSites) -> Bools:
    under = truth.trace.sp[at.step] - truth.sites.frame_pointer[at.step]  # above SP: a large number
    found: Bools = (under > 0) & (under <= 2 * truth.trace.arch.word) & (at.depth == 0)
    return found


def fp_set_late(truth: Watched, at: FrameSites) -> Bools:
    pointer, pc, late = truth.sites.frame_pointer, truth.trace.pc, truth.sets_pointer_late
    found: Bools = pointer[at.own] != pointer[truth.activations.opened[at.node]]
    here = np.flatnonzero(found)
    found[here] = [truth.function(each) in late for each in pc[at.own[here]].tolist()]
    return found


def fp_set(truth: Watched, at: FrameSites) -> Bools:
    before, pointer = steps_in_front(truth, at), truth.sites.frame_pointer
    found: Bools = (before >= 0) & (pointer[before] == pointer[truth.activations.opened[at.node]])
    found &= pointer[before] != pointer[at.step]
    return found


def allocated_in_part(truth: Watched, at: FrameSites) -> Bools:
    sp, node, last = truth.trace.sp, truth.node, len(truth.trace) - 1
    before, behind = steps_in_front(truth, at), np.minimum(at.step + 1, last)
    found: Bools = (before >= 0) & (before == at.step - 1) & (node[behind] == at.node)
    found &= (sp[behind] < sp[at.step]) & (sp[at.step] < sp[before])
    stores = _stores(truth)
    return found & ~stores[before] & ~stores[at.step]


def given_back_in_part(truth: Watched, at: FrameSites) -> Bools:
    trace, last = truth.trace, len(truth.trace) - 1
    before, behind = steps_in_front(truth, at), np.minimum(at.step + 1, last)
    found: Bools = (before >= 0) & (before == at.step - 1)
    found &= trace.pc[behind] == trace.pc[at.step] + trace.sizes[at.step]
    found &= (trace.sp[before] < trace.sp[at.step]) & (trace.sp[at.step] < trace.sp[behind])
    here = np.flatnonzero(found)
    step, registers = at.step[here], trace.registers
    changed = (registers[step - 1] != registers[step]) | (registers[step] != registers[step + 1])
    changed[:, [trace.arch.index[trace.arch.pc], trace.arch.index[trace.arch.sp]]] = False
    found[here] = ~changed.any(axis=1)
    return found


def without_effect(truth: Watched, at: FrameSites) -> Bools:
    before, registers = steps_in_front(truth, at), truth.trace.registers
    found: Bools = (before >= 0) & (before == at.step - 1) & ~_stores(truth)[before]
    here = np.flatnonzero(found)
    changed = registers[before[here]] != registers[at.step[here]]
    changed[:, truth.trace.arch.index[truth.trace.arch.pc]] = False
    found[here] = ~changed.any(axis=1)
    return found


def _stores(truth: Watched) -> Bools:
    stores = np.zeros(len(truth.trace), np.bool_)
    stores[truth.trace.writes.step] = True
    return stores


def changed(truth: Watched, at: FrameSites) -> Bools:
    return _changed_since(truth, at.own, truth.activations.opened[at.node])


def changed_inside(truth: Watched, at: FrameSites) -> Bools:
    found: Bools = truth.sites.moved[at.step]
    return found | _changed_since(truth, at.step, truth.activations.opened[truth.node[at.step]])


def _changed_since(truth: Watched, own: NDArray[np.int64], opened: NDArray[np.int64]) -> Bools:
    registers, found = truth.trace.registers, np.zeros(len(own), np.bool_)
    for column in truth.kept_columns:
        found |= registers[own, column] != registers[opened, column]
    return found
