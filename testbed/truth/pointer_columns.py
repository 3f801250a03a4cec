"""Columns of traits about what FP leads to: records, the activation's own frame, or neither.

The readable rules are in `testbed.truth.frame_rules`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.trace.words import words_before
from testbed.truth.frame_sites import FrameSites, frame_sites
from testbed.truth.step_columns import steps_in_front
from testbed.truth.transfers import Bools
from testbed.truth.watched import Watched


def called(truth: Watched, at: FrameSites) -> Bools:
    return truth.activations.parent[at.node] >= 0


def same_return(truth: Watched, at: FrameSites) -> Bools:
    returns, parent = truth.activations.return_address, truth.activations.parent[at.node]
    found: Bools = (parent >= 0) & (returns[at.node] == returns[parent])
    return found


def on_return(truth: Watched, at: FrameSites) -> Bools:
    here = truth.activations.return_address[at.node] == truth.trace.pc[at.own]
    found: Bools = called(truth, at) & (at.depth == 0) & here
    return found


def callers(truth: Watched, at: FrameSites) -> FrameSites:
    """The frames further out, or the same where there is none."""
    return frame_sites(truth.trace, truth.activations, truth.node, at.step, at.depth + 1)


def frameless_caller(truth: Watched, at: FrameSites) -> Bools:
    return (at.depth > 0) & called(truth, at) & ~truth.sites.moved[at.own]


def linked(truth: Watched, at: FrameSites) -> Bools:
    arch, sites = truth.trace.arch, truth.sites
    pointer = sites.frame_pointer[at.own]
    found: Bools = called(truth, at) & (truth.trace.sp[at.own] <= pointer) & (pointer < truth.activations.cfa[at.node])
    here = np.flatnonzero(found)
    kept, mapped = _kept(truth, at.some(here), [record.return_address for record in truth.records])
    found[here] = mapped & _returns_there(truth, at.node[here], kept & np.uint64(arch.code_mask & ~arch.signature))
    return found


def record_replaced(truth: Watched, at: FrameSites) -> Bools:
    activations, sites, arch = truth.activations, truth.sites, truth.trace.arch
    pointer, opened = sites.frame_pointer[at.own], activations.opened[at.node]
    found: Bools = called(truth, at) & (truth.trace.sp[at.own] <= pointer) & (pointer < activations.cfa[at.node])
    found &= sites.isa[at.own] == sites.isa[opened]
    here = np.flatnonzero(found)
    some, node = at.some(here), at.node[here]
    saved, has_saved = _kept(truth, some, [record.saved_pointer for record in truth.records])
    kept, has_kept = _kept(truth, some, [record.return_address for record in truth.records])
    address, is_other = kept & np.uint64(arch.code_mask & ~arch.signature), saved != sites.frame_pointer[opened[here]]
    own = _returns_there(truth, node, address)
    found[here] = has_saved & has_kept & np.where(own, is_other, _is_further_out(truth, node, address, saved, is_other))
    return found


def _kept(truth: Watched, at: FrameSites, offsets: list[int]) -> tuple[NDArray[np.uint64], Bools]:
    """The words so far from where FP leads, by instruction set; false where one is not mapped."""
    mask, trace = truth.trace.arch.word_mask, truth.trace
    pointer, isa = truth.sites.frame_pointer[at.own], truth.sites.isa[at.own]
    places = (pointer + np.array([offset & mask for offset in offsets], np.uint64)[isa]) & np.uint64(mask)
    kept, mapped = words_before(trace, at.step, places)
    if len(unknown := np.flatnonzero(~mapped)):
        kept[unknown], mapped[unknown] = truth.words.at(at.step[unknown], places[unknown])
    return kept, mapped


def _returns_there(truth: Watched, node: NDArray[np.int32], address: NDArray[np.uint64]) -> Bools:
    """Which of the activations go back to these addresses."""
    returns, goes_on = truth.activations.return_address[node], truth.activations.goes_on[node]
    found: Bools = (address == returns) | (address == goes_on) & (goes_on != 0)
    return found


def _is_further_out(
    truth: Watched,
    node: NDArray[np.int32],
    address: NDArray[np.uint64],
    pointer: NDArray[np.uint64],
    is_other: Bools,
) -> Bools:
    """For which of the activations one further out goes back to the address, or has called with that FP, an other one.

    Few addresses are that of any.
    """
    activations, called_with = truth.activations, truth.sites.frame_pointer[truth.activations.opened - 1]
    inner = activations.parent >= 0
    found: Bools = np.isin(address, activations.return_address[inner]) | is_other & np.isin(pointer, called_with[inner])
    for i in np.flatnonzero(found).tolist():
        at, own, known = int(node[i]), True, False
        while activations.parent[at] >= 0 and not known:
            known = bool(is_other[i] and called_with[at] == pointer[i])
            known |= not own and bool(activations.return_address[at] == address[i])
            at, own = int(activations.parent[at]), False
        found[i] = known
    return found


def at_return(truth: Watched, at: FrameSites) -> Bools:
    there = np.array([record.return_address == 0 for record in truth.records])
    found: Bools = linked(truth, at) & there[truth.sites.isa[at.own]]
    return found


def record_apart(truth: Watched, at: FrameSites) -> Bools:
    word = truth.trace.arch.word
    ends = np.array([max(r.saved_pointer, r.return_address) + word for r in truth.records], np.uint64)
    end = truth.sites.frame_pointer[at.own] + ends[truth.sites.isa[at.own]]
    found: Bools = linked(truth, at) & (end != truth.activations.cfa[at.node])
    return found


def unlinked(truth: Watched, at: FrameSites) -> Bools:
    return called(truth, at) & ~linked(truth, at)


def last_record(truth: Watched, at: FrameSites) -> Bools:
    return linked(truth, at) & ~linked(truth, callers(truth, at))


def reuses_pointer(truth: Watched, at: FrameSites) -> Bools:
    activations, sites = truth.activations, truth.sites
    word = np.uint64(truth.trace.arch.word)
    end = np.where(called(truth, at), activations.cfa[at.node], activations.entry_sp[at.node] + word)
    pointer = sites.frame_pointer[at.own]
    inside = (truth.trace.sp[at.own] <= pointer) & (pointer < end)
    found: Bools = sites.moved[at.own] & ~inside
    return found


def for_locals(truth: Watched, at: FrameSites) -> Bools:
    return truth.sites.moved[at.own] & ~reuses_pointer(truth, at) & unlinked(truth, at)


def leads(truth: Watched, at: FrameSites) -> Bools:
    """What is mapped is mapped all the time, so no word is read."""
    word, mask, isa = truth.trace.arch.word, np.uint64(truth.trace.arch.word_mask), truth.sites.isa[at.own]
    pointer = truth.sites.frame_pointer[at.own]
    found: Bools = np.ones(len(at), np.bool_)
    for part in ("return_address", "saved_pointer"):
        offsets = np.array([getattr(record, part) & int(mask) for record in truth.records], np.uint64)
        found &= _mapped(truth, pointer + offsets[isa] & mask, word)
    found |= pointer == 0
    return found


def _mapped(truth: Watched, addresses: NDArray[np.uint64], size: int) -> Bools:
    """At which addresses so many bytes can be read: of one region, or of several without a gap."""
    spans: list[list[int]] = []
    for region in sorted((r for r in truth.trace.initial if r.data), key=lambda each: each.address):
        if spans and spans[-1][1] == region.address:
            spans[-1][1] = region.end
        else:
            spans.append([region.address, region.end])
    if not spans:
        return np.zeros(len(addresses), np.bool_)
    starts, ends = np.array(spans, np.uint64).T
    place = np.searchsorted(starts, addresses, side="right").astype(np.int64) - 1
    found: Bools = (place >= 0) & (ends[place] - addresses >= np.uint64(size)) & (ends[place] > addresses)
    return found


def cfa_moved(truth: Watched, at: FrameSites) -> Bools:
    before, sp, pointer, signed = steps_in_front(truth, at), truth.trace.sp, truth.sites.frame_pointer, truth.signed
    found: Bools = (before >= 0) & (signed[before] != signed[at.step])
    here = np.flatnonzero(before >= 0)
    here = here[np.argsort(before[here], kind="stable")]  # memory is read in the order of steps
    before, at = before[here], at.some(here)
    was_linked = linked(truth, FrameSites(before, at.depth, at.node, before, at.pc))
    found[here] |= np.where(was_linked, pointer[before] != pointer[at.step], sp[before] != sp[at.step])
    return found
