"""What is written to shared memory, in the journals of all who see it, and in the file whose bytes it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.process.address_space import PAGE, Area, SharedBytes
from testbed.process.file_tree import refused_by_host
from testbed.process.state import Process

_WORD = 8


def share_writes(process: Process) -> None:
    """What changed since the last time is in the journals of all processes that see it, each as its last step's.

    A process that maps the same bytes twice has its own writes in its journal at both places, at the same step. To be
    asked before another process runs, before a call, which may read the file, and after it.
    """
    recorder, views = process.recorder, process.memory.views
    first = recorder.untold()
    if views and first < recorder.writes:
        _share(process, views, first)
    for shared in list(process.tree.mapped.values()):
        ranges, shared.changed = shared.changed, []
        for low, high in ranges:
            words = np.arange(low & -_WORD, high, _WORD, dtype=np.uint64)
            for each in process.kernel.living:
                _hear(each, shared, words)


def _share(process: Process, views: tuple[Area, ...], first: int) -> None:
    at, address, size, value = _within_pages(process.recorder.journal_from(first))
    which = np.searchsorted(np.array([area.start for area in views], np.uint64), address, "right").astype(np.int64) - 1
    inside = (which >= 0) & (address < np.array([area.end for area in views], np.uint64)[which])
    copies = []
    for number in np.unique(which[inside]).tolist():
        area, mine = views[number], inside & (which == number)
        shared, offset = area.shared, address[mine] - np.uint64(area.start) + np.uint64(area.offset)
        assert shared is not None
        last = offset + size[mine] - np.uint64(1)
        words = np.unique(np.concatenate([offset, last]) & ~np.uint64(_WORD - 1))
        for each in process.kernel.living:
            if each is not process:
                _hear(each, shared, words)
        for page in np.unique(words // np.uint64(PAGE)).tolist() if shared.file is not None else ():
            with refused_by_host():
                shared.write_back(page * PAGE, page * PAGE + PAGE)
        for other in views:
            if other.shared is shared and other is not area:
                seen = (offset >= other.offset) & (offset < other.offset + other.end - other.start)
                there = offset[seen] + np.uint64(other.start) - np.uint64(other.offset)
                copies.append((at[mine][seen], there, size[mine][seen], value[mine][seen]))
    if copies:
        process.recorder.add_copies(first, *(np.concatenate(column) for column in zip(*copies, strict=True)))


def _within_pages(writes: tuple[NDArray[np.uint64], ...]) -> tuple[NDArray[np.uint64], ...]:
    """Which entry, address, size, value: one that ends in another page than it begins in is two."""
    _, address, size, value = (column.astype(np.uint64) for column in writes)
    at = np.arange(len(address), dtype=np.uint64)
    behind = address % np.uint64(PAGE) + size
    rest = np.where(behind > PAGE, behind - np.uint64(PAGE), np.uint64(0))
    over = rest > 0
    head = (size - rest)[over]
    second = at[over], address[over] + head, rest[over], value[over] >> (np.uint64(8) * head)
    return tuple(np.concatenate(pair) for pair in zip((at, address, size - rest, value), second, strict=True))


def _hear(process: Process, shared: SharedBytes, words: NDArray[np.uint64]) -> None:
    """A process sees what others wrote at these offsets of shared bytes, wherever it maps them."""
    for area in process.memory.views:
        if area.shared is shared:
            seen = words[(words >= area.offset) & (words < area.offset + area.end - area.start)]
            if len(seen):
                values = np.frombuffer(shared.bytes, np.uint64)[(seen // np.uint64(_WORD)).astype(np.int64)]
                process.recorder.hear(seen + np.uint64(area.start) - np.uint64(area.offset), values)
