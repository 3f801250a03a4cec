"""Columns of traits about the link register of interrupted frames.

The readable rules are in `testbed.truth.link_rules`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.truth.code_columns import by_pc, functions, nowhere
from testbed.truth.frame_sites import FrameSites
from testbed.truth.pointer_columns import called
from testbed.truth.transfers import Bools
from testbed.truth.watched import Watched


def _link(truth: Watched, at: FrameSites) -> tuple[NDArray[np.uint64], Bools]:
    """The link register of interrupted frames, as an address, and where it says something: it is not zero."""
    arch = truth.trace.arch
    if arch.link is None:
        return np.zeros(len(at), np.uint64), nowhere(truth, at)
    value = truth.trace.column(arch.link)[at.step]
    return value & np.uint64(arch.code_mask & ~arch.signature), (value != 0) & (at.depth == 0)


def link_live(truth: Watched, at: FrameSites) -> Bools:
    link, there = _link(truth, at)
    found: Bools = there & called(truth, at) & (link == truth.activations.return_address[at.node])
    return found


def link_stale(truth: Watched, at: FrameSites) -> Bools:
    found = _link(truth, at)[1]
    if truth.trace.arch.link is not None:
        found |= (at.depth == 0) & called(truth, at)
    return found & ~link_live(truth, at)


def link_inside(truth: Watched, at: FrameSites) -> Bools:
    link, there = _link(truth, at)
    found: Bools = there & (link != 0)
    here = np.flatnonzero(found)
    found[here] = functions(truth, link[here] - np.uint64(1)) == functions(truth, truth.trace.pc[at.own[here]])
    return found


def link_outside(truth: Watched, at: FrameSites) -> Bools:
    link, there = _link(truth, at)
    found: Bools = there & (link != 0) & ~link_inside(truth, at)
    here = np.flatnonzero(found)
    found[here] = by_pc(link[here] - np.uint64(1), truth.named_function) != 0
    return found


def link_elsewhere(truth: Watched, at: FrameSites) -> Bools:
    link, there = _link(truth, at)
    found: Bools = there & (link != truth.trace.pc[at.own])
    return found
