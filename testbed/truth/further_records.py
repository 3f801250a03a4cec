"""Where FP leads past an activation: to the record of one further out. A chain followed from there skips a caller.

Or to a place of the activation's own, where what an unwinder goes to was put instead of its record.
"""

from __future__ import annotations

from testbed.truth.frame_rules import is_signal, linked
from testbed.truth.frame_sites import FrameSite
from testbed.truth.watched import Watched
from testbed.words.errors import UnreadableMemory


def linked_further(truth: Watched, at: FrameSite) -> bool:
    """A word that FP leads to, behind the activation's own part of the stack, is the return address of one further out.

    A record may begin in front of the CFA: where a function keeps nothing, its caller's begins right there.
    """
    found = _record(truth, at)
    return found is not None and _belongs_further_out(truth, at, found[0])


def linked_further_on(truth: Watched, at: FrameSite) -> bool:
    """The same, and the other word of that record is an address further up that can be read."""
    found = _record(truth, at)
    if found is None or not _belongs_further_out(truth, at, found[0]):
        return False
    saved = found[1]
    try:
        truth.trace.memory(at.step).read(saved, truth.trace.arch.word)
    except UnreadableMemory:
        return False
    return saved > int(truth.sites.frame_pointer[at.own])


def leads(truth: Watched, at: FrameSite) -> bool:
    """FP is zero, or the two words of a record could be read where it leads, whatever lies there."""
    arch, pointer = truth.trace.arch, int(truth.sites.frame_pointer[at.own])
    record, memory = truth.records[int(truth.sites.isa[at.own])], truth.trace.memory(at.step)
    try:
        for offset in (record.return_address, record.saved_pointer):
            memory.read(pointer + offset & arch.word_mask, arch.word)
    except UnreadableMemory:
        return pointer == 0
    return True


def record_apart(truth: Watched, at: FrameSite) -> bool:
    """The higher one of its two words is not the last one before the CFA."""
    if not linked(truth, at):
        return False
    record = truth.records[int(truth.sites.isa[at.own])]
    end = max(record.saved_pointer, record.return_address) + truth.trace.arch.word
    return int(truth.sites.frame_pointer[at.own]) + end != truth.activations[at.node].cfa


def record_replaced(truth: Watched, at: FrameSite) -> bool:
    """Where the activation runs the instruction set that it began with: others chain by another register."""
    activation, sites, opened = truth.activations[at.node], truth.sites, truth.activations[at.node].opened
    pointer = int(sites.frame_pointer[at.own])
    if activation.cfa is None or is_signal(truth, at) or sites.isa[at.own] != sites.isa[opened]:
        return False
    if not int(truth.trace.sp[at.own]) <= pointer < activation.cfa:
        return False
    if (found := _words(truth, at, pointer)) is None:
        return False
    returns, saved = found
    is_other = saved != int(sites.frame_pointer[opened])
    if returns in (activation.return_address, activation.goes_on):
        return is_other
    return _belongs_further_out(truth, at, returns) or (is_other and _is_fp_further_out(truth, at, saved))


def _record(truth: Watched, at: FrameSite) -> tuple[int, int] | None:
    """The two words of what FP leads to, if that is no part of the activation: a return address, and a saved FP."""
    activation, pointer = truth.activations[at.node], int(truth.sites.frame_pointer[at.own])
    if activation.cfa is None or is_signal(truth, at) or pointer < activation.cfa - 2 * truth.trace.arch.word:
        return None
    return _words(truth, at, pointer)


def _words(truth: Watched, at: FrameSite, pointer: int) -> tuple[int, int] | None:
    """The return address and the saved FP of what is taken for a record; None where it cannot be read."""
    arch, record = truth.trace.arch, truth.records[int(truth.sites.isa[at.own])]
    memory = truth.trace.memory(at.step)
    try:
        kept, saved = (
            memory.unsigned(pointer + offset & arch.word_mask, arch.word)
            for offset in (record.return_address, record.saved_pointer)
        )
    except UnreadableMemory:
        return None
    return arch.without_signature(kept), saved


def _belongs_further_out(truth: Watched, at: FrameSite, address: int) -> bool:
    """Is an address the return address of an activation further out than this one?"""
    parent = truth.activations[at.node].parent
    while parent is not None:
        outer = truth.activations[parent]
        if outer.return_address == address:
            return True
        parent = outer.parent
    return False


def _is_fp_further_out(truth: Watched, at: FrameSite, pointer: int) -> bool:
    """Is an address the FP of an activation further out, as it was when that one made its call?"""
    inner = truth.activations[at.node]
    while inner.parent is not None:
        if int(truth.sites.frame_pointer[inner.opened - 1]) == pointer:
            return True
        inner = truth.activations[inner.parent]
    return False
