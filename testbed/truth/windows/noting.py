"""What the first look at a window takes down for the second one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.trace import Trace
from testbed.truth.function_facts import (
    executed,
    frame_sizes,
    framed_pcs,
    general_columns,
    kept_registers,
    largest,
    moving_pcs,
    saving_pcs,
    setting_pcs,
    storing_pcs,
    taking_pcs,
)
from testbed.truth.links import kept_links
from testbed.truth.model import Activations
from testbed.truth.native.columns import GOES_ON, LED, PARENT, PROMISED, RETURN, RETURNED
from testbed.truth.native.follow import Walked
from testbed.truth.native.noting import (
    FRAMED,
    MOVING,
    SAVING,
    SAVING_LINK,
    SETTING,
    STORING,
    TAKING,
    CodeTable,
    SeenSteps,
    note_saves,
    note_steps,
)
from testbed.truth.windows.hindsight import Known

Words = NDArray[np.uint64]
MOST_CODE = 1 << 24  # bytes of code that are held in a table


class LookedAt(NamedTuple):
    """A window's trace, who executes each of its rows, which rows are its own ``steps``, and FP."""

    trace: Trace
    activations: Activations
    node: NDArray[np.int32]
    steps: slice
    pointer: Words


def note(known: Known, walked: Walked, old: int, told: LookedAt, end: int, *, natively: bool) -> None:
    """Take down what the next pass has to know beforehand. The first ``old`` activations are of earlier windows."""
    standing, trace, steps = walked.standing, told.trace, told.steps
    known.returned |= standing.sites(RETURNED)
    known.thrown |= standing.thrown
    known.led |= standing.sites(LED)
    known.no_landings |= standing.no_landings
    known.switches |= standing.switches
    known.promised |= standing.sites(PROMISED)
    known.handed |= standing.handed
    known.arrived |= walked.arrived
    inner = standing.links[:, PARENT] >= 0
    known.returns = with_more(known.returns, np.unique(standing.addresses[inner, RETURN]))
    known.kept |= frozenset(kept_links(trace, steps).tolist())
    if not (natively and _note_natively(known, told)):
        whose, link = (trace, told.activations, told.node), (trace.arch.link,) if trace.arch.link else ()
        known.executed = _with_more_code(known.executed, executed(trace, steps))
        known.framed = with_more(known.framed, framed_pcs(*whose, steps))
        known.frame_sizes = _with_larger(known.frame_sizes, frame_sizes(*whose, steps))
        known.moving = with_more(known.moving, moving_pcs(*whose, told.pointer, steps))
        known.setting = with_more(known.setting, setting_pcs(*whose, told.pointer, steps))
        takes = taking_pcs(trace, told.node, general_columns(trace.arch), steps)
        known.taking = with_more(known.taking, takes)
        known.saving = with_more(known.saving, saving_pcs(*whose, trace.arch.preserved, steps))
        known.storing = with_more(known.storing, storing_pcs(*whose, kept_registers(trace.arch), steps))
        known.return_saving = with_more(known.return_saving, saving_pcs(*whose, link, steps))
    goes_on = standing.addresses[:old, GOES_ON]
    for index in np.flatnonzero(goes_on).tolist():
        opened, address = int(standing.opened[index]), int(goes_on[index])
        if known.goes_on.get(opened) != address:
            known.goes_on[opened] = address
            known.revised.append((opened, end))


def _note_natively(known: Known, told: LookedAt) -> bool:
    """What all code shows, in a table of the code; False where that cannot say it, and nothing was taken down."""
    trace, each = told.trace, told.activations
    if known.code is None:
        known.code = _table(trace)
    table, arch = known.code, trace.arch
    first, end, _ = told.steps.indices(len(trace))
    registers = np.asarray(trace.registers)
    columns = (
        trace.pc,
        trace.sizes,
        trace.sp,
        told.pointer,
        told.node,
        each.entry_sp,
        each.cfa,
        each.opened,
        registers,
    )
    steps = SeenSteps(*columns, np.int64(first), np.int64(end))
    preserved = np.array([arch.index[name] for name in arch.preserved], np.int64)
    kept = np.array([arch.index[name] for name in kept_registers(arch)], np.int64)
    link = arch.index[arch.link] if arch.link else -1
    journal = tuple(map(np.ascontiguousarray, (trace.writes.step, trace.writes.size, trace.writes.value)))
    new, odd = native(note_steps)(steps, np.array(general_columns(arch), np.int64), table)
    stored, elsewhere = native(note_saves)(journal, steps, preserved, kept, link, arch.word, table)
    if odd or elsewhere:
        return False
    if new or stored:
        there = np.flatnonzero(table.sizes)
        known.executed = _with_more_code(
            known.executed,
            np.stack((there.astype(np.uint64) + table.low, table.sizes[there].astype(np.uint64)), axis=1),
        )
        framed = np.flatnonzero(table.frames)
        sized = np.stack((framed.astype(np.uint64) + table.low, table.frames[framed]), axis=1)
        known.frame_sizes = _with_larger(known.frame_sizes, sized)
        for name, bit in _FACTS:
            pcs = np.flatnonzero(table.bits & bit).astype(np.uint64) + table.low
            setattr(known, name, with_more(getattr(known, name), pcs))
    return True


_FACTS = (
    *(("framed", FRAMED), ("moving", MOVING), ("setting", SETTING), ("storing", STORING), ("taking", TAKING)),
    *(("saving", SAVING), ("return_saving", SAVING_LINK)),
)


def _table(trace: Trace) -> CodeTable:
    """For the code of a trace's images; for none where that lies far apart."""
    spans = [
        (segment.address + loaded.bias, segment.address + loaded.bias + len(segment.data))
        for loaded in trace.images
        for segment in loaded.image.segments
        if segment.executable
    ]
    low = min((start for start, _ in spans), default=0)
    size = max((end for _, end in spans), default=0) - low
    size = size if size <= MOST_CODE else 0
    bits, frames = np.zeros(size, np.uint8), np.zeros(size, np.uint64)
    return CodeTable(np.uint64(low), np.zeros(size, np.uint8), bits, frames)


def with_more(known: Words, more: Words) -> Words:
    """Both, in order; the very same array where there is nothing new."""
    if len(known):
        more = more[known[np.minimum(np.searchsorted(known, more), len(known) - 1)] != more]
    if not len(more):
        return known
    return np.union1d(known, more)


def _with_larger(known: Words, more: Words) -> Words:
    """The same of instructions and sizes: of each instruction the largest one."""
    both = largest(np.concatenate((known, more)))
    return known if np.array_equal(known, both) else both


def _with_more_code(known: Words, more: Words) -> Words:
    """The same of instructions: address and size."""
    ours, theirs = (each[:, 0] << np.uint64(8) | each[:, 1] for each in (known, more))
    both = with_more(ours, theirs)
    return known if both is ours else np.stack((both >> np.uint64(8), both & np.uint64(0xFF)), axis=1)
