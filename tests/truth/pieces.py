"""A trace cut into chunks, and the truth about its windows beside the truth about the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace, Writes
from testbed.trace.chunk import HELD, LEAST, SPARE, Checkpoint, Chunk
from testbed.trace.rolling_memory import RollingMemory
from testbed.truth import CallStack, Truth
from testbed.truth.sites import SiteFacts
from testbed.truth.windows.known import Known
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import windows


def chunks_of_trace(
    trace: Trace, length: int, start: Checkpoint | None = None, seed: int | None = None
) -> Iterator[Chunk]:
    """The trace in chunks that are written over afterwards, as a recorder's are; with a ``seed`` of random lengths."""
    random = Random(seed)
    memory = RollingMemory(start.memory if start else trace.initial)
    steps = trace.writes.step.astype(np.int64)
    made: list[tuple[NDArray[np.uint64], NDArray[np.uint8]]] = []
    end = start.first if start else 0
    while end < len(trace):
        first, end = end, min(end + (length if seed is None else random.randint(LEAST, length)), len(trace))
        low, high = np.searchsorted(steps, [first, end]).tolist()
        writes = Writes(
            (steps[low:high] - first).astype(np.uint32),
            trace.writes.address[low:high],
            trace.writes.size[low:high],
            trace.writes.value[low:high],
        )
        table = np.full((SPARE + end - first, len(trace.arch.registers)), 0xDEAD, np.uint64)
        lengths = np.full(SPARE + end - first, 3, np.uint8)
        table[SPARE:], lengths[SPARE:] = trace.registers[first:end], trace.sizes[first:end]
        taken = tuple(step - first for step in trace.taken_over if first <= step < end)
        piece = replace(
            trace,
            registers=table[SPARE:],
            sizes=lengths[SPARE:],
            writes=writes,
            initial=memory.regions(),
            taken_over=taken,
        )
        yield Chunk(first, piece, trace.end if end == len(trace) else None, table, lengths)
        if len(made := [*made[-1:], (table, lengths)]) == HELD:
            made[0][0][:], made[0][1][:] = 0xBAD, 0
        memory.apply(writes)


def said(stack: CallStack) -> list[object]:
    """All that a stack says, but for the numbers of its activations."""
    return [(frame.pc, frame.cfa, dict(frame.registers), frame.calling) for frame in stack.frames]


def agree_in_pieces(whole: Truth, length: int, every: int = 1, seed: int | None = None) -> Known:
    """The truth about windows of so many steps, or up to so many, is that about the whole; what a pass found out."""
    trace = whole.trace
    known = survey(lambda: windows(chunks_of_trace(trace, length, seed=seed)))
    assert (known.steps, known.ending) == (len(trace), trace.end)
    reached = 0
    for truth, _ in watch(windows(chunks_of_trace(trace, length, seed=seed)), known):
        window = truth.window
        assert window.first == reached
        reached = window.end
        here, there = slice(window.start, window.stop), slice(window.first, window.end)
        assert np.array_equal(truth.trace.registers[here], trace.registers[there])
        for field in fields(SiteFacts):
            left, right = getattr(truth.sites, field.name)[here], getattr(whole.sites, field.name)[there]
            assert np.array_equal(left, right), (field.name, length, (np.flatnonzero(left != right) + window.first)[:5])
        assert np.array_equal(truth.undecided[here], whole.undecided[there]), length
        for step in range(window.first, window.end, every):
            row = window.row(step)
            assert said(truth.stack(row)) == said(whole.stack(step)), (length, step)
            assert truth.traits(row) == whole.traits(step), (length, step)
            for depth in (1, 2):
                assert truth.frame_traits(row, depth) == whole.frame_traits(step, depth), (length, step, depth)
            sp = int(trace.sp[step])
            assert truth.trace.memory(row).read(sp - 32, 64) == trace.memory(step).read(sp - 32, 64), (length, step)
    assert reached == len(trace)
    return known
