"""The journal of writes by stack word: when each word changed, to what, and which saved register that was."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.trace.memory import Regions
from testbed.truth import Truth
from testbed.words.errors import UnreadableMemory


@dataclass(frozen=True, eq=False)
class WordEvents:
    """One row per (write, aligned word it touches), in the order of the writes.

    ``value`` is the whole word after the write; ``saved`` the column of the register that was saved, or -1.
    """

    step: NDArray[np.uint32]
    address: NDArray[np.uint64]
    value: NDArray[np.uint64]
    saved: NDArray[np.int16]
    word: int = field(repr=False)

    def __len__(self) -> int:
        return len(self.step)

    def last(self, address: int, step: int) -> int | None:
        """The row of the last change of a word before ``step`` executes, or None."""
        rows = self._rows.get(address)
        if rows is None:
            return None
        i = bisect_left(rows[0], step)
        return rows[1][i - 1] if i else None

    @cached_property
    def _rows(self) -> Mapping[int, tuple[list[int], list[int]]]:
        """For every word: the steps that changed it, and their rows."""
        index: dict[int, tuple[list[int], list[int]]] = {}
        for row, (step, address) in enumerate(zip(self.step.tolist(), self.address.tolist(), strict=True)):
            steps, rows = index.setdefault(address, ([], []))
            steps.append(step)
            rows.append(row)
        return index


def word_events(trace: Trace, truth: Truth) -> WordEvents:
    """The word events of a recorded run."""
    word = trace.arch.word
    saved = _first_saves(trace, truth, _saved_columns(trace, truth)).tolist()
    regions = Regions(trace.initial)
    now: dict[int, bytes] = {}
    rows: list[tuple[int, int, int, int]] = []
    writes = trace.writes
    journal = zip(
        writes.step.tolist(), writes.address.tolist(), writes.size.tolist(), writes.value.tolist(), strict=True
    )
    for i, (step, address, size, value) in enumerate(journal):
        data = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
        done = 0
        while done < size:
            base = (address + done) - (address + done) % word
            skip = address + done - base
            part = data[done : done + word - skip]
            before = now.get(base)
            if before is None:
                before = _initial(regions, base, word)
            after = before[:skip] + part + before[skip + len(part) :]
            now[base] = after
            rows.append((step, base, int.from_bytes(after, "little"), saved[i]))
            done += len(part)
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    return WordEvents(
        np.array(columns[0], np.uint32),
        np.array(columns[1], np.uint64),
        np.array(columns[2], np.uint64),
        np.array(columns[3], np.int16),
        word,
    )


def _initial(regions: Regions, base: int, word: int) -> bytes:
    try:
        return regions.read(base, word)
    except UnreadableMemory:  # the end of a region whose size is no multiple of a word
        return bytes(word)


def _saved_columns(trace: Trace, truth: Truth) -> NDArray[np.int16]:
    """For every write: the column of the callee-saved register that it saves for its activation, or -1."""
    writes, arch = trace.writes, trace.arch
    out = np.full(len(writes), -1, np.int16)
    if not len(writes):
        return out
    opened = np.array([activation.opened for activation in truth.activations], np.int64)[truth.node]
    step = writes.step.astype(np.int64)
    by_kernel = trace.sizes[step] == 0  # a signal's frame: nobody gives back from there
    prologue = truth.sites.prologue[step]
    pointers = [name for name in arch.preserved if name in arch.frame_pointers]
    # The frame pointers last: they win where a zero could be either.
    for name in (*(n for n in arch.preserved if n not in pointers), *pointers):
        column = arch.index[name]
        held = trace.registers[step, column]
        kept = held == trace.registers[opened[step], column]
        width = arch.registers[column].bits // 8
        value = writes.value
        whole = (writes.size == width) & (value == held)
        if width > arch.word:  # a double register stored as two words
            low = held & np.uint64(arch.word_mask)
            high = held >> np.uint64(8 * arch.word)
            whole |= (writes.size == arch.word) & ((value == low) | (value == high))
        # Several frame pointers may be zero at once; what is saved is that of the instruction set in force.
        in_force = np.array([name == isa.records[0].pointer for isa in arch.isas])[truth.sites.isa[step]]
        zero_counts = prologue & in_force if name in pointers else prologue
        out[~by_kernel & kept & whole & ((value != 0) | zero_counts)] = column
    return out


def _first_saves(trace: Trace, truth: Truth, saved: NDArray[np.int16]) -> NDArray[np.int16]:
    """Only the first place that holds a register is where it is saved; the same value elsewhere is a local.

    A place that SP has passed since is none any more: the same activation may save again after a tail call.
    """
    out = saved.copy()
    places: dict[tuple[int, int], tuple[int, int, int]] = {}  # (activation, column) -> (step, address, SP known until)
    for i in np.flatnonzero(saved >= 0).tolist():
        step, address = int(trace.writes.step[i]), int(trace.writes.address[i])
        key = int(truth.node[step]), int(saved[i])
        held = places.get(key)
        if held is None or (held[2] < step and int(trace.sp[held[2] + 1 : step + 1].max()) > held[1]):
            places[key] = step, address, step
            continue
        places[key] = held[0], held[1], step
        if held[0] != step and held[1] != address:
            out[i] = -1
    return out
