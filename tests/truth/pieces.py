"""A trace cut into chunks, and the truth about its windows beside the truth about the whole."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace, Writes
from testbed.trace.rolling_memory import RollingMemory
from testbed.trace.trace import HELD, SPARE, Checkpoint, Chunk
from testbed.truth import CallStack, Truth
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import Known, windows
from testbed.words.budget import LEAST
from testbed.words.traits import Trait

OF_WHOLE_ACTIVATIONS = ("prologue", "epilogue", "frameless")
LESS = frozenset({Trait.PROLOGUE, Trait.EPILOGUE, Trait.FRAMELESS})  # words that a piece need not say of others


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
    ends, begins = np.zeros((2, len(whole.activations)), np.int64)
    ends[whole.node], begins[whole.node[::-1]] = np.arange(len(trace)), np.arange(len(trace))[::-1]
    reached = 0
    for truth, _ in watch(windows(chunks_of_trace(trace, length, seed=seed)), known):
        window = truth.window
        assert window.first == reached
        reached = window.end
        here, there = slice(window.start, window.stop), slice(window.first, window.end)
        assert np.array_equal(truth.trace.registers[here], trace.registers[there])
        inside = (begins >= window.first) & (ends < window.end)
        told = truth.sites.told[truth.node][here] & inside[whole.node[there]]
        for name in ("isa", "frame_pointer", "moved", "transition", *OF_WHOLE_ACTIVATIONS):
            left, right = getattr(truth.sites, name)[here], getattr(whole.sites, name)[there]
            if name in OF_WHOLE_ACTIVATIONS:
                left, right = left & told, right & told
            assert np.array_equal(left, right), (name, length, (np.flatnonzero(left != right) + window.first)[:5])
        assert np.array_equal(truth.undecided[here], whole.undecided[there]), length
        for step in range(window.first, window.end, every):
            row = window.row(step)
            assert said(truth.stack(row)) == said(whole.stack(step)), (length, step)
            less = frozenset() if told[step - window.first] else LESS
            assert truth.traits(row) - less == whole.traits(step) - less, (length, step)
            for depth in (1, 2):
                found, right = truth.frame_traits(row, depth) - less, whole.frame_traits(step, depth) - less
                assert found == right, (length, step, depth)
            sp = int(trace.sp[step])
            assert truth.trace.memory(row).read(sp - 32, 64) == trace.memory(step).read(sp - 32, 64), (length, step)
    assert reached == len(trace) and set(known.returns.tolist()) == whole.returned_to
    return known
