"""What the link register of an interrupted activation leads to."""

from __future__ import annotations

from testbed.truth.frame_rules import called, stands_anywhere
from testbed.truth.frame_sites import FrameSite
from testbed.truth.watched import Watched


def link_address(truth: Watched, at: FrameSite) -> int | None:
    """What the link register holds, as an address; None where it is zero, which says nothing, or there is none."""
    arch = truth.trace.arch
    if not arch.link or not stands_anywhere(truth, at):
        return None
    value = int(truth.trace.registers[at.own, arch.index[arch.link]])
    return arch.without_signature(value) if value else None


def link_live(truth: Watched, at: FrameSite) -> bool:
    return called(truth, at) and link_address(truth, at) == truth.activations[at.node].return_address


def link_stale(truth: Watched, at: FrameSite) -> bool:
    """Zero is what the register holds when a program starts, and else something that an activation has put there."""
    kept = bool(truth.trace.arch.link) and stands_anywhere(truth, at) and called(truth, at)
    there = kept or link_address(truth, at) is not None
    return there and not link_live(truth, at)


def link_inside(truth: Watched, at: FrameSite) -> bool:
    link = link_address(truth, at)
    return bool(link) and truth.function((link or 0) - 1) == truth.function(int(truth.trace.pc[at.own]))


def link_outside(truth: Watched, at: FrameSite) -> bool:
    link = link_address(truth, at)
    return link is not None and truth.named_function(link - 1) != 0 and not link_inside(truth, at)


def link_elsewhere(truth: Watched, at: FrameSite) -> bool:
    """Behind a call that was the last one it leads to the pc itself."""
    link = link_address(truth, at)
    return link is not None and link != int(truth.trace.pc[at.own])
