"""The memory of a step as a stranger puts it together: zeros, then the program file's segments, then blocks over them.

A *block* is 64 bytes at a multiple of 64. It is there where memory differs from what the file's segments say. Blocks of
SP's own region that end more than `BELOW_SP` bytes under SP are left out: what lies there is dead.
"""

from __future__ import annotations

from collections.abc import Iterator

from testbed.image import LoadedImage
from testbed.runs.run import Run

BLOCK = 64
BELOW_SP = 256  # the red zone, and words that an epilogue has just popped


class MemoryBlocks:
    """The blocks of a run's steps; what the program file says is looked at once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._regions = [(region.address, region.end) for region in run.trace.initial]
        self._given: dict[int, bytes] = {}
        self._touched = sorted(set(self._initial()) | set(self._written()))

    def at(self, step: int) -> tuple[tuple[int, bytes], ...]:
        """The blocks of one step, by address."""
        memory, sp = self._run.trace.memory(step), int(self._run.trace.sp[step])
        low, high = next(((s, e) for s, e in self._regions if s <= sp <= e), (0, 0))
        found = []
        for address in self._touched:
            if low <= address < high and address + BLOCK <= sp - BELOW_SP:
                continue
            data = memory.read(address, BLOCK)
            if data != self.given(address):
                found.append((address, data))
        return tuple(found)

    def given(self, address: int) -> bytes:
        """A block as the program file has it: zeros where it has nothing."""
        if address not in self._given:
            self._given[address] = given_bytes(self._run.loaded, address, BLOCK)
        return self._given[address]

    def _initial(self) -> Iterator[int]:
        """The blocks that the loader or the kernel has written something else into than the file says."""
        for region in self._run.trace.initial:
            for address in range(region.address, region.end, BLOCK):
                data = region.data[address - region.address :][:BLOCK]
                if (any(data) or self._run.loaded.covers(address)) and data != self.given(address):
                    yield address

    def _written(self) -> Iterator[int]:
        writes = self._run.trace.writes
        for address, size in zip(writes.address.tolist(), writes.size.tolist(), strict=True):
            yield from range(address & -BLOCK, address + size, BLOCK)


def given_bytes(loaded: LoadedImage, address: int, size: int) -> bytes:
    """What a program file's segments say of run-time memory; zeros where they say nothing."""
    out = bytearray(size)
    for segment in loaded.image.segments:
        start = segment.address + loaded.bias
        low, high = max(address, start), min(address + size, start + len(segment.data))
        if low < high:
            out[low - address : high - address] = segment.data[low - start : high - start]
    return bytes(out)
