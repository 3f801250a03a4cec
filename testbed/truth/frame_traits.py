"""What the trace shows about one frame, in words for people, a rule for each; and what its part of the stack holds.

A rule asks registers, memory and activations alone; three ask a symbol, whose name the word is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from testbed.image import image_covering
from testbed.truth.events import code_of
from testbed.truth.frame_sites import FrameSite, frame_site
from testbed.truth.model import Activation
from testbed.truth.watched import NO_FUNCTION, Watched
from testbed.words.errors import UnreadableMemory
from testbed.words.traits import Trait

# What a frame's own part of the stack holds: where a search for its return address begins, ends, and is misled.
#
# A search that found every return address so far goes on behind the last one. So frame 0's part begins at SP, and that
# of a caller behind the place where the frame before it keeps its return address; it ends at the frame's CFA. Of the
# outermost frame it is all that follows. What lies in front of the frame's own return address misleads.


@dataclass(frozen=True, slots=True)
class OwnPart:
    """``kept``: the return address is there.

    Before it lie ``left``: return addresses of calls that are over; ``copied``: those of activations that are not.
    """

    kept: bool
    left: bool
    copied: bool


def own_part(watched: Watched, step: int, depth: int) -> OwnPart:
    """What frame ``depth`` of a step has on the stack."""
    chain = list(_chain(watched, int(watched.node[step])))
    start, values, place = int(watched.trace.sp[step]), np.empty(0, np.uint64), None
    for activation in chain[: depth + 1]:
        values, place, start = _search(watched, step, activation, start)
    before = values[:place]
    in_code = np.zeros(len(before), np.bool_)
    for low, high in code_of(watched.trace):
        in_code |= (before >= low) & (before <= high)
    misleading = set(before[in_code].tolist())
    living = misleading & {activation.return_address for activation in chain}
    left = (misleading - living) & watched.returned_to
    return OwnPart(place is not None, bool(left), bool(living))


def _search(
    watched: Watched, step: int, activation: Activation, start: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], int | None, int]:
    """The words of an activation's part of the stack, the place of its return address among them, where to go on."""
    arch, memory = watched.trace.arch, watched.trace.memory(step)
    start = -(-start // arch.word) * arch.word
    try:
        end = activation.cfa if activation.cfa is not None else memory.mapped_until(start)
        if end <= start and activation.signal:  # on another stack than its handler
            end = memory.mapped_until(start)
        data = memory.read(start, max(0, end - start) // arch.word * arch.word)
    except UnreadableMemory:
        return np.empty(0, np.uint64), None, max(start, activation.cfa or start)
    values = np.frombuffer(data, f"<u{arch.word}").astype(np.uint64) & np.uint64(arch.code_mask & ~arch.signature)
    wanted = [address for address in (activation.return_address, activation.goes_on) if address]
    found = np.flatnonzero(np.logical_or.reduce([values == address for address in wanted])) if wanted else values[:0]
    if len(found):
        return values, int(found[0]), start + (int(found[0]) + 1) * arch.word
    return values, None, max(start, activation.cfa or start)


def _chain(watched: Watched, index: int | None) -> Iterator[Activation]:
    while index is not None:
        yield watched.activations[index]
        index = watched.activations[index].parent


TraitRule = Callable[[Watched, FrameSite], bool]


def stands_anywhere(truth: Watched, at: FrameSite) -> bool:
    """True where the frame's pc is the next instruction to execute: it made no call. A signal's own frame has none."""
    return at.own == at.step if at.depth == 0 else interrupted(truth, at)


def interrupted(truth: Watched, at: FrameSite) -> bool:
    """True for a frame that a signal interrupted: it made no call, and goes on at the instruction that has not run."""
    return at.depth > 0 and not truth.activations[at.node].signal and truth.trace.interrupted(at.own)


def called(truth: Watched, at: FrameSite) -> bool:
    """True for a frame that has a caller: for all but the outermost one."""
    return truth.activations[at.node].parent is not None


def is_signal(truth: Watched, at: FrameSite) -> bool:
    """True for a signal frame: the one that the kernel made, which a handler returns to."""
    return truth.activations[at.node].signal


def caller_of(truth: Watched, at: FrameSite) -> FrameSite:
    """The frame further out, or the same one where there is none."""
    return frame_site(truth.trace, truth.activations, truth.node, at.step, at.depth + 1)


def _here(column: str) -> TraitRule:
    """A column of `SiteFacts` that says something about an activation that stands anywhere."""
    return lambda truth, at: bool(getattr(truth.sites, column)[at.own]) and stands_anywhere(truth, at)


def linked(truth: Watched, at: FrameSite) -> bool:
    """FP is an address in the activation's frame, and the record there holds its return address."""
    activation, arch, pointer = truth.activations[at.node], truth.trace.arch, int(truth.sites.frame_pointer[at.own])
    if activation.cfa is None or activation.signal or not int(truth.trace.sp[at.own]) <= pointer < activation.cfa:
        return False
    offset = truth.trace.images[0].image.frame_record_of(arch.isas[int(truth.sites.isa[at.own])]).return_address
    try:
        kept = truth.trace.memory(at.step).unsigned(pointer + offset & arch.word_mask, arch.word)
    except UnreadableMemory:
        return False
    return arch.without_signature(kept) in (activation.return_address, activation.goes_on)


def unlinked(truth: Watched, at: FrameSite) -> bool:
    """True for a called function that has linked no frame record."""
    return called(truth, at) and not is_signal(truth, at) and not linked(truth, at)


def reuses_pointer(truth: Watched, at: FrameSite) -> bool:
    """FP is neither its entry value nor an address in the activation's own frame, SP up to the CFA."""
    activation = truth.activations[at.node]
    if activation.signal or not truth.sites.moved[at.own]:
        return False
    end = activation.cfa if activation.cfa is not None else activation.entry_sp + truth.trace.arch.word
    return not int(truth.trace.sp[at.own]) <= int(truth.sites.frame_pointer[at.own]) < end


def mixed_isa(truth: Watched, at: FrameSite) -> bool:
    """True where a frame, or its caller, runs in another instruction set than the step (A32 and Thumb)."""
    now = int(truth.sites.isa[at.step])
    return now != _isa(truth, at) or now != _isa(truth, caller_of(truth, at))


def _isa(truth: Watched, at: FrameSite) -> int:
    """The frame's instruction set: of a signal's trampoline that has not run yet, the one its handler returns to."""
    arch = truth.trace.arch
    if arch.isa_flag is None or arch.link is None or truth.node[at.own] == at.node or not is_signal(truth, at):
        return int(truth.sites.isa[at.own])
    return int(truth.trace.registers[at.own + 1, arch.index[arch.link]]) & 1


def hand_made(truth: Watched, at: FrameSite) -> bool:
    """Where calls push, SP falls with the step that opens an activation; elsewhere a call comes back behind itself."""
    activation, trace = truth.activations[at.node], truth.trace
    if not called(truth, at) or is_signal(truth, at) or handler(truth, at):
        return False
    before = activation.opened - 1
    if trace.arch.link is None:
        return bool(trace.sp[before] <= trace.sp[activation.opened])
    return int(trace.pc[before]) + int(trace.sizes[before]) != activation.return_address


def handler(truth: Watched, at: FrameSite) -> bool:
    """True for the frame of a signal's handler: its parent is the signal frame."""
    parent = truth.activations[at.node].parent
    return parent is not None and truth.activations[parent].signal and not is_signal(truth, at)


def nameless(truth: Watched, at: FrameSite) -> bool:
    """A caller is looked up at its call; a signal's trampoline, and what a signal interrupted, made none."""
    caller = caller_of(truth, at)
    made_call = not stands_anywhere(truth, caller) and not is_signal(truth, caller)
    return caller.node != at.node and not truth.named_function(caller.pc - made_call)


def moved_up(truth: Watched, at: FrameSite) -> bool:
    """True where SP is above the frame's CFA: the frame has been left, or the stack was switched."""
    cfa = truth.activations[at.node].cfa
    return cfa is not None and not is_signal(truth, at) and int(truth.trace.sp[at.own]) > cfa


def last_call(truth: Watched, at: FrameSite) -> bool:
    """True where a call was its function's last instruction: the return address lies in another function."""
    if at.depth == 0 or stands_anywhere(truth, at) or is_signal(truth, at):
        return False
    return truth.function(at.pc) != truth.function(int(truth.trace.pc[at.own]))


def tail_called(truth: Watched, at: FrameSite) -> bool:
    """A symbol says which function this is, and the activation began in none or another: by a tail call, or a jump
    into the middle."""
    if is_signal(truth, at):  # its first step is its handler's: it has not run yet
        return False
    here, begun = (int(truth.trace.pc[step]) for step in (at.own, truth.activations[at.node].opened))
    return truth.whole_function(here) not in (NO_FUNCTION, truth.whole_function(begun))


def link_address(truth: Watched, at: FrameSite) -> int | None:
    """What the link register holds, as an address; None where it is zero, which says nothing, or there is none."""
    arch = truth.trace.arch
    if not arch.link or not stands_anywhere(truth, at):
        return None
    value = int(truth.trace.registers[at.own, arch.index[arch.link]])
    return arch.without_signature(value) if value else None


def link_live(truth: Watched, at: FrameSite) -> bool:
    """True where the link register still holds this frame's return address."""
    return called(truth, at) and link_address(truth, at) == truth.activations[at.node].return_address


def link_stale(truth: Watched, at: FrameSite) -> bool:
    """Zero is what the register holds when a program starts, and else something that an activation has put there."""
    kept = bool(truth.trace.arch.link) and stands_anywhere(truth, at) and called(truth, at)
    there = kept or link_address(truth, at) is not None
    return there and not link_live(truth, at)


def return_changed(truth: Watched, at: FrameSite) -> bool:
    """What stands at the return place, the link register or the word that the call pushed, is where control will go."""
    activation, trace = truth.activations[at.node], truth.trace
    if at.depth or activation.goes_on is None or activation.cfa is None:
        return False
    if trace.arch.link is not None:
        return link_address(truth, at) == activation.goes_on
    kept, mapped = truth.trace.words.at(
        np.array([at.step]), np.array([activation.cfa - trace.arch.entry_cfa], np.uint64)
    )
    return bool(mapped[0]) and int(kept[0]) == activation.goes_on


def signed(truth: Watched, at: FrameSite) -> bool:
    """True where the return address of a frame is signed (pointer authentication)."""
    return bool(truth.signed[at.own]) and not is_signal(truth, at)


def no_code(truth: Watched, at: FrameSite) -> bool:
    """Only where a signal came instead of an instruction can there be none; there, and of whoever it returns to."""
    trace, activation = truth.trace, truth.activations[at.node]
    if activation.signal:
        return image_covering(trace.images, activation.return_address or 0) is None
    return stands_anywhere(truth, at) and trace.interrupted(at.own) and image_covering(trace.images, at.pc) is None


def in_no_file(truth: Watched, at: FrameSite) -> bool:
    """A pc at which a signal came instead of an instruction is no code at all."""
    executed = not is_signal(truth, at) and not truth.trace.interrupted(at.own)
    return executed and image_covering(truth.trace.images, int(truth.trace.pc[at.own])) is None


RULES: Mapping[Trait, TraitRule] = MappingProxyType(
    {
        Trait.PROLOGUE: _here("prologue"),
        Trait.EPILOGUE: _here("epilogue"),
        Trait.FRAMELESS: _here("frameless"),
        Trait.FIRST: lambda truth, at: at.depth == 0 and truth.activations[at.node].opened == at.own,
        Trait.LINKED: linked,
        Trait.UNLINKED: unlinked,
        Trait.FP_REUSED: reuses_pointer,
        Trait.MOVED_UP: moved_up,
        Trait.MIXED_ISA: mixed_isa,
        Trait.SECOND_ISA: lambda truth, at: bool(truth.sites.isa[at.own]),
        Trait.ROOT: lambda truth, at: not called(truth, at),
        Trait.LINK_LIVE: link_live,
        Trait.LINK_STALE: link_stale,
        Trait.RETURN_CHANGED: return_changed,
        Trait.SIGNED: signed,
        Trait.UNKEPT: lambda truth, at: called(truth, at) and not own_part(truth, at.step, at.depth).kept,
        Trait.LEFTOVER: lambda truth, at: own_part(truth, at.step, at.depth).left,
        Trait.COPIED: lambda truth, at: own_part(truth, at.step, at.depth).copied,
        Trait.HAND_MADE: hand_made,
        Trait.TAIL_CALLED: tail_called,
        Trait.LAST_CALL: last_call,
        Trait.NAMELESS: nameless,
        Trait.TRANSITION: lambda truth, at: bool(truth.sites.transition[at.step]),
        Trait.SIGNAL: is_signal,
        Trait.INTERRUPTED: interrupted,
        Trait.HANDLER: handler,
        Trait.NO_CODE: no_code,
        Trait.IN_NO_FILE: in_no_file,
    }
)
"""Every observed word."""

# Of frames further out, what a site is said to have as well: the others belong to the innermost one.
OUTER = frozenset(
    {
        *(Trait.FP_REUSED, Trait.SIGNED, Trait.TAIL_CALLED),
        *(Trait.SIGNAL, Trait.INTERRUPTED, Trait.NO_CODE),
    }
)
