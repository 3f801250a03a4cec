"""Rules about one frame's registers: how it is linked, where a row begins, how control came to it."""

from __future__ import annotations

import numpy as np

from testbed.trace import Trace
from testbed.truth.frame_sites import FrameSite, frame_site
from testbed.truth.watched import Watched
from testbed.words.errors import UnreadableMemory


def stands_anywhere(truth: Watched, at: FrameSite) -> bool:
    """True where the frame's pc is the next instruction to execute: it made no call. A signal's own frame has none."""
    return at.own == at.step if at.depth == 0 else interrupted(truth, at)


def interrupted(truth: Watched, at: FrameSite) -> bool:
    return at.depth > 0 and not truth.activations[at.node].signal and truth.trace.interrupted(at.own)


def called(truth: Watched, at: FrameSite) -> bool:
    return truth.activations[at.node].parent is not None


def is_signal(truth: Watched, at: FrameSite) -> bool:
    return truth.activations[at.node].signal


def frameless_caller(truth: Watched, at: FrameSite) -> bool:
    return at.depth > 0 and called(truth, at) and not truth.sites.moved[at.own] and not is_signal(truth, at)


def linked(truth: Watched, at: FrameSite) -> bool:
    """FP is an address in the activation's frame, and the record there holds its return address."""
    activation, arch, pointer = truth.activations[at.node], truth.trace.arch, int(truth.sites.frame_pointer[at.own])
    if activation.cfa is None or activation.signal or not int(truth.trace.sp[at.own]) <= pointer < activation.cfa:
        return False
    offset = truth.records[int(truth.sites.isa[at.own])].return_address
    try:
        kept = truth.trace.memory(at.step).unsigned(pointer + offset & arch.word_mask, arch.word)
    except UnreadableMemory:
        return False
    return arch.without_signature(kept) in (activation.return_address, activation.goes_on)


def at_return(truth: Watched, at: FrameSite) -> bool:
    """A record of the layout that GCC makes on 32-bit ARM, against that of the procedure call standard."""
    return linked(truth, at) and truth.records[int(truth.sites.isa[at.own])].return_address == 0


def unlinked(truth: Watched, at: FrameSite) -> bool:
    return called(truth, at) and not is_signal(truth, at) and not linked(truth, at)


def last_record(truth: Watched, at: FrameSite) -> bool:
    if not linked(truth, at):
        return False
    caller = caller_of(truth, at)
    return caller.node == at.node or not linked(truth, caller)


def reuses_pointer(truth: Watched, at: FrameSite) -> bool:
    """FP is neither its entry value nor an address in the activation's own frame, SP up to the CFA."""
    activation = truth.activations[at.node]
    if activation.signal or not truth.sites.moved[at.own]:
        return False
    end = activation.cfa if activation.cfa is not None else activation.entry_sp + truth.trace.arch.word
    return not int(truth.trace.sp[at.own]) <= int(truth.sites.frame_pointer[at.own]) < end


def back_for_now(truth: Watched, at: FrameSite) -> bool:
    """FP has its entry value between two instructions at which the settled one was another."""
    if not stands_anywhere(truth, at) or truth.sites.moved[at.own]:
        return False
    return not (truth.sites.prologue[at.own] or truth.sites.epilogue[at.own] or truth.sites.frameless[at.own])


def below(truth: Watched, at: FrameSite) -> bool:
    """FP leads below SP, no further than the two words of a record: one half of it a call writes, or has written."""
    if not stands_anywhere(truth, at):
        return False
    under = int(truth.trace.sp[at.own]) - int(truth.sites.frame_pointer[at.own])
    return 0 < under <= 2 * truth.trace.arch.word


def for_locals(truth: Watched, at: FrameSite) -> bool:
    """FP was set to an address in the activation's own frame, where no record is."""
    return (
        called(truth, at)
        and bool(truth.sites.moved[at.own])
        and not (is_signal(truth, at) or reuses_pointer(truth, at) or linked(truth, at))
    )


def mixed_isa(truth: Watched, at: FrameSite) -> bool:
    now = int(truth.sites.isa[at.step])
    return now != _isa(truth, at) or now != _isa(truth, caller_of(truth, at))


def _isa(truth: Watched, at: FrameSite) -> int:
    """The frame's instruction set: of a signal's trampoline that has not run yet, the one its handler returns to."""
    arch = truth.trace.arch
    if arch.isa_flag is None or arch.link is None or truth.node[at.own] == at.node or not is_signal(truth, at):
        return int(truth.sites.isa[at.own])
    return int(truth.trace.registers[at.own + 1, arch.index[arch.link]]) & 1


def caller_of(truth: Watched, at: FrameSite) -> FrameSite:
    """The frame further out, or the same one where there is none."""
    return frame_site(truth.trace, truth.activations, truth.node, at.step, at.depth + 1)


def step_in_front(truth: Watched, at: FrameSite) -> int:
    """The activation's step before the one where it stands: the call, if one has just come back; -1: there is none."""
    before, node = at.own - 1, truth.node
    if before < 0 or int(truth.activations.opened[at.node]) == at.own:
        return -1
    if truth.trace.interrupted(before):  # a signal came at this very instruction
        return step_in_front(truth, at._replace(own=before))
    if node[before] == at.node:
        return before
    came_back = truth.activations[int(node[before])]
    if came_back.parent != at.node:
        return -1
    return step_in_front(truth, at._replace(own=came_back.opened - 1)) if came_back.signal else came_back.opened - 1


def row_begins(truth: Watched, at: FrameSite) -> bool:
    before = step_in_front(truth, at) if stands_anywhere(truth, at) else -1
    if before < 0:
        return False
    sp, pointer = truth.trace.sp, truth.sites.frame_pointer
    return bool(
        sp[before] != sp[at.own] or pointer[before] != pointer[at.own] or truth.signed[before] != truth.signed[at.own]
    )


def cfa_moved(truth: Watched, at: FrameSite) -> bool:
    """What a CFA is counted from: FP if it leads to the activation's record, else SP; a signature counts as well."""
    before = step_in_front(truth, at) if stands_anywhere(truth, at) else -1
    if before < 0:
        return False
    from_pointer = linked(truth, at._replace(step=before, own=before))
    column = truth.sites.frame_pointer if from_pointer else truth.trace.sp
    return bool(column[before] != column[at.own] or truth.signed[before] != truth.signed[at.own])


def fp_set(truth: Watched, at: FrameSite) -> bool:
    before = step_in_front(truth, at) if stands_anywhere(truth, at) else -1
    pointer = truth.sites.frame_pointer
    return before >= 0 and bool(pointer[truth.activations[at.node].opened] == pointer[before] != pointer[at.own])


def other_in_front(truth: Watched, at: FrameSite) -> bool:
    return jumped_to(truth, at) and truth.has_other_in_front(int(truth.trace.pc[at.own]))


def framed_at_label(truth: Watched, at: FrameSite) -> bool:
    return stands_anywhere(truth, at) and truth.is_framed_at_label(int(truth.trace.pc[at.own]))


def jumped_to(truth: Watched, at: FrameSite) -> bool:
    before, trace = at.own - 1, truth.trace
    if not stands_anywhere(truth, at) or before < 0 or truth.node[before] != at.node:
        return False
    return int(truth.activations.opened[at.node]) != at.own and bool(
        trace.pc[before] + trace.sizes[before] != trace.pc[at.own]
    )


def returned(truth: Watched, at: FrameSite) -> bool:
    """A call of the activation has come back to this very instruction."""
    before = step_in_front(truth, at) if stands_anywhere(truth, at) else -1
    return before >= 0 and truth.node[at.own - 1] != at.node and not truth.trace.interrupted(at.own - 1)


def entered_framed(truth: Watched, at: FrameSite) -> bool:
    return not is_signal(truth, at) and truth.function(int(truth.trace.pc[at.own])) in truth.entered_framed


def bare(truth: Watched, at: FrameSite) -> bool:
    return stands_anywhere(truth, at) and int(truth.trace.sp[at.own]) == truth.activations[at.node].entry_sp


def frame_in_part(truth: Watched, at: FrameSite) -> bool:
    if not stands_anywhere(truth, at):
        return False
    held = truth.activations[at.node].entry_sp - int(truth.trace.sp[at.own])
    return 0 < held < truth.largest_frame(int(truth.trace.pc[at.own]))


def moved_on(truth: Watched, at: FrameSite) -> bool:
    return stands_anywhere(truth, at) and truth.moves_pointer_before(int(truth.trace.pc[at.own]))


def moved_in_part(truth: Watched, at: FrameSite) -> bool:
    return stands_anywhere(truth, at) and truth.moves_pointer_around(int(truth.trace.pc[at.own]))


def fp_set_late(truth: Watched, at: FrameSite) -> bool:
    """FP is not what it was at the entry, and the function sets it behind its first two instructions."""
    pointer = truth.sites.frame_pointer
    changed = pointer[at.own] != pointer[truth.activations[at.node].opened]
    return bool(changed) and truth.function(int(truth.trace.pc[at.own])) in truth.sets_pointer_late


def allocated_in_part(truth: Watched, at: FrameSite) -> bool:
    """The instruction in front and this one both move SP down, and neither stores anything."""
    trace, own = truth.trace, at.own
    if not stands_anywhere(truth, at) or step_in_front(truth, at) != own - 1 or own + 1 >= len(trace):
        return False
    if truth.node[own + 1] != at.node or not trace.sp[own + 1] < trace.sp[own] < trace.sp[own - 1]:
        return False
    return not bool(np.isin((own - 1, own), trace.writes.step).any())


def falls_through(trace: Trace, step: int) -> bool:
    """The step behind is that of the next instruction: no return. Of a part of a run, nobody knows yet whose it is."""
    return bool(trace.pc[step + 1] == trace.pc[step] + trace.sizes[step])


def given_back_in_part(truth: Watched, at: FrameSite) -> bool:
    """The instruction in front and this one both move SP up, and change no other register: neither is a pop."""
    trace, own = truth.trace, at.own
    if not stands_anywhere(truth, at) or step_in_front(truth, at) != own - 1 or own + 1 >= len(trace):
        return False
    if not trace.sp[own - 1] < trace.sp[own] < trace.sp[own + 1] or not falls_through(trace, own):
        return False
    changed = (trace.registers[own - 1 : own + 1] != trace.registers[own : own + 2]).any(axis=0)
    changed[[trace.arch.index[trace.arch.pc], trace.arch.index[trace.arch.sp]]] = False
    return not changed.any()


def without_effect(truth: Watched, at: FrameSite) -> bool:
    """The instruction in front left every register but the pc, and memory, as they were."""
    trace, own = truth.trace, at.own
    if own == 0 or not stands_anywhere(truth, at) or step_in_front(truth, at) != own - 1:
        return False
    changed = trace.registers[own - 1] != trace.registers[own]
    changed[trace.arch.index[trace.arch.pc]] = False
    return not changed.any() and own - 1 not in trace.writes.step


def vector_restored(truth: Watched, at: FrameSite) -> bool:
    """A callee-saved register that is wider than an address had another value at a step of the activation's own."""
    opened = truth.activations[at.node].opened
    if is_signal(truth, at):
        return False
    mine = np.flatnonzero(truth.node[opened : at.own + 1] == at.node) + opened
    values = truth.trace.registers[mine][:, truth.vector_columns]
    now = truth.trace.registers[at.own, truth.vector_columns]
    entered = truth.trace.registers[opened, truth.vector_columns]
    changed = (values != entered).any(axis=0) | truth.vectors_changed[at.node]
    return bool((changed & (now == entered)).any())


def hand_made(truth: Watched, at: FrameSite) -> bool:
    """Where calls push, SP falls with the step that opens an activation; elsewhere a call comes back behind itself."""
    activation, trace = truth.activations[at.node], truth.trace
    if not called(truth, at) or is_signal(truth, at) or handler(truth, at):
        return False
    before = activation.opened - 1
    if trace.arch.link is None:
        return bool(trace.sp[before] <= trace.sp[activation.opened])
    return int(trace.pc[before]) + int(trace.sizes[before]) != activation.return_address


def nameless(truth: Watched, at: FrameSite) -> bool:
    caller = caller_of(truth, at)
    return caller.node != at.node and truth.is_nameless(caller.pc - (not stands_anywhere(truth, caller)))


def moved_up(truth: Watched, at: FrameSite) -> bool:
    cfa = truth.activations[at.node].cfa
    return cfa is not None and not is_signal(truth, at) and int(truth.trace.sp[at.own]) > cfa


def handler(truth: Watched, at: FrameSite) -> bool:
    parent = truth.activations[at.node].parent
    return parent is not None and truth.activations[parent].signal and not is_signal(truth, at)


def changed(truth: Watched, at: FrameSite) -> bool:
    columns, registers = truth.kept_columns, truth.trace.registers
    opened = truth.activations[at.node].opened
    return not is_signal(truth, at) and bool((registers[at.own, columns] != registers[opened, columns]).any())


def changed_inside(truth: Watched, at: FrameSite) -> bool:
    """Whatever frame is asked about: it is the interrupted one from which all others are found."""
    innermost = frame_site(truth.trace, truth.activations, truth.node, at.step, 0)
    return bool(truth.sites.moved[at.step]) or changed(truth, innermost)
