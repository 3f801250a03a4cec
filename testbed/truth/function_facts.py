"""What all activations of a function show of it: where it has a frame, and where it saves its callers' registers.

One row of a table may stand for a whole function, so it matters at one instruction what happens at another.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.image import LoadedImage, image_covering
from testbed.trace import Trace
from testbed.truth.model import Activations
from testbed.truth.transfers import distinct
from testbed.truth.vectors import FIRST_VECTOR

Pcs = NDArray[np.uint64]
CodeRanges = tuple[tuple[int, int], ...]


def framed_pcs(trace: Trace, activations: Activations, node: NDArray[np.int32], steps: slice = slice(None)) -> Pcs:
    """The instructions at which an activation had something on the stack: SP was not what it was at its entry."""
    framed = trace.sp[steps] != activations.entry_sp[node[steps]]
    return distinct(trace.pc[steps][framed])


def frame_sizes(
    trace: Trace, activations: Activations, node: NDArray[np.int32], steps: slice = slice(None)
) -> NDArray[np.uint64]:
    """The instructions at which an activation had something on the stack, in order, and how much at most."""
    held = trace.sp[steps] < activations.entry_sp[node[steps]]
    sizes = activations.entry_sp[node[steps]][held] - trace.sp[steps][held]
    return largest(np.stack((trace.pc[steps][held], sizes), axis=1))


def largest(sizes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Of rows of an instruction and a size: for each instruction, in order, the largest one."""
    ordered = sizes[np.lexsort((sizes[:, 1], sizes[:, 0]))]
    last = np.ones(len(ordered), np.bool_)
    last[:-1] = ordered[1:, 0] != ordered[:-1, 0]
    largest_ones: NDArray[np.uint64] = ordered[last]
    return largest_ones


def saving_pcs(
    trace: Trace, activations: Activations, node: NDArray[np.int32], names: Collection[str], steps: slice = slice(None)
) -> Pcs:
    """The instructions that store what one of these registers held when their activation began.

    The kernel does so as well, in the frame of a signal that came instead of an instruction: that is no save.
    """
    return distinct(trace.pc[_saves(trace, activations, node, names, steps)])


def kept_registers(arch: Arch) -> list[str]:
    """The callee-saved registers that chain no frames."""
    pointers = {record.pointer for isa in arch.isas for record in isa.records}
    return [name for name in arch.preserved if name not in pointers]


def storing_pcs(
    trace: Trace, activations: Activations, node: NDArray[np.int32], names: Collection[str], steps: slice = slice(None)
) -> Pcs:
    """Of the instructions that `saving_pcs` finds those that leave SP where it is; the very last one shows nothing."""
    saves = _saves(trace, activations, node, names, steps)
    saves = saves[saves + 1 < len(trace)]
    return distinct(trace.pc[saves[trace.sp[saves + 1] == trace.sp[saves]]])


def _saves(
    trace: Trace, activations: Activations, node: NDArray[np.int32], names: Collection[str], steps: slice
) -> NDArray[np.int64]:
    """The steps that store what one of these registers held when their activation began."""
    first, end, _ = steps.indices(len(trace))
    writes, arch = trace.writes, trace.arch
    step = writes.step.astype(np.int64)
    here = np.flatnonzero((writes.size >= arch.word) & (step >= first) & (step < end))
    here = here[trace.sizes[step[here]] > 0]
    step = step[here]
    columns = [arch.index[name] for name in names]
    before = trace.registers[activations.opened[node[step]]][:, columns]
    saves = ((before == writes.value[here, None]) & (before != 0)).any(axis=1)
    found: NDArray[np.int64] = step[saves]
    return found


def moving_pcs(
    trace: Trace,
    activations: Activations,
    node: NDArray[np.int32],
    pointer: NDArray[np.uint64],
    steps: slice = slice(None),
) -> Pcs:
    """The instructions that lead FP from one address of their activation's frame to another one."""
    first, end, _ = steps.indices(len(trace))
    at = np.arange(max(first, 1), end)
    inside = (trace.sp <= pointer) & (pointer < activations.cfa[node])
    moves = (node[at] == node[at - 1]) & (pointer[at] != pointer[at - 1]) & inside[at] & inside[at - 1]
    return distinct(trace.pc[at[moves] - 1])


def setting_pcs(
    trace: Trace,
    activations: Activations,
    node: NDArray[np.int32],
    pointer: NDArray[np.uint64],
    steps: slice = slice(None),
) -> Pcs:
    """The instructions that change FP from what it was when their activation began."""
    first, end, _ = steps.indices(len(trace))
    at = np.arange(max(first, 1), end)
    sets = (node[at] == node[at - 1]) & (pointer[at] != pointer[at - 1])
    sets &= pointer[at - 1] == pointer[activations.opened[node[at]]]
    return distinct(trace.pc[at[sets] - 1])


def general_columns(arch: Arch) -> list[int]:
    """The columns of the registers that hold numbers and addresses, but for SP and those that chain frames."""
    pointers = {record.pointer for isa in arch.isas for record in isa.records}
    others = {arch.pc, arch.sp, arch.flags, *pointers}
    return [
        i for name, i in arch.index.items() if name not in others and (arch.by_name[name].dwarf or 0) < FIRST_VECTOR
    ]


def taking_pcs(trace: Trace, node: NDArray[np.int32], columns: Collection[int], steps: slice = slice(None)) -> Pcs:
    """The instructions that move SP to what another register held, or down by as much."""
    first, end, _ = steps.indices(len(trace))
    at = np.arange(max(first, 1), end)
    at = at[(node[at] == node[at - 1]) & (trace.sp[at] != trace.sp[at - 1])]
    now, before = trace.sp[at], trace.sp[at - 1]
    held = trace.registers[at - 1][:, list(columns)]
    takes = (held == now[:, None]).any(axis=1) | (now < before) & (held == (before - now)[:, None]).any(axis=1)
    return distinct(trace.pc[at[takes] - 1])


def executed(trace: Trace, steps: slice = slice(None)) -> NDArray[np.uint64]:
    """The instructions that were executed, once each and in order: address and size. A signal's step executes none."""
    pc, size = trace.pc[steps], trace.sizes[steps].astype(np.uint64)
    code = distinct(pc[size > 0] << np.uint64(8) | size[size > 0])
    return np.stack((code >> np.uint64(8), code & np.uint64(0xFF)), axis=1)


def function_start(images: tuple[LoadedImage, ...], pc: int) -> int:
    """The start of the function at a pc, the pc itself where no function is."""
    loaded = image_covering(images, pc)
    symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
    return symbol.address + loaded.bias if loaded and symbol else pc


def code_spans(images: tuple[LoadedImage, ...]) -> CodeRanges:
    """The start and the end of every executable segment."""
    segments = [(loaded.bias, segment) for loaded in images for segment in loaded.image.segments]
    return tuple((s.address + bias, s.address + bias + len(s.data)) for bias, s in segments if s.executable)


def image_spans(images: tuple[LoadedImage, ...]) -> CodeRanges:
    """Each image from its first byte to behind its last, whatever lies between its segments."""
    each = [(loaded.bias, loaded.image.segments) for loaded in images if loaded.image.segments]
    return tuple((bias + min(s.address for s in of), bias + max(s.address + s.size for s in of)) for bias, of in each)
