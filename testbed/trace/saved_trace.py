"""A trace whose columns are in a file: decompressed when they are touched, all at once or a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.image import LoadedImage
from testbed.trace.compact_columns import Malformed, decode_column, decode_sizes, decode_steps, decode_writes
from testbed.trace.file_blocks import Blocks
from testbed.trace.memory import Region, Writes
from testbed.trace.trace import HELD, SPARE, Checkpoint, Chunk, Chunks, Exited, Trace
from testbed.words.errors import EmulationError

STEPS, WRITES = b"step", b"wrts"
OF_COLUMNS = 4  # bytes of a column for one byte of what may be unpacked: little else is unpacked of a trace
AT_ONCE = 4  # chunks of the file that one chunk of a long run is made of


@dataclass(frozen=True, eq=False)
class Columns:
    """The blocks of a trace's steps and writes. All methods raise TraceFileError: file, offset, what is wrong."""

    blocks: Blocks
    arch: Arch
    steps: int
    writes: int
    rows: int  # of a block

    def spans(self, count: int) -> Iterator[tuple[int, int, int]]:
        """(number, first row, end) of each block of ``count`` rows in all."""
        return ((i, at, min(at + self.rows, count)) for i, at in enumerate(range(0, count, self.rows)))

    def fill(self, number: int, registers: NDArray[np.uint64], sizes: NDArray[np.uint8]) -> None:
        """The steps of one block."""
        content, offset, what = self._steps(number)
        try:
            decode_steps(self.arch, content, registers, sizes)
        except Malformed as error:
            raise self.blocks.error(offset, f"{what}: {error}") from error

    def column(self, register: str) -> NDArray[np.uint64]:
        """One register at every step."""
        out = self._empty((self.steps,), np.uint64)
        for number, first, end in self.spans(self.steps):
            content, offset, what = self._steps(number)
            try:
                out[first:end] = decode_column(self.arch, content, end - first, register)
            except Malformed as error:
                raise self.blocks.error(offset, f"{what}: {error}") from error
        return out

    def registers(self) -> NDArray[np.uint64]:
        """All registers at every step."""
        out = self._empty((self.steps, len(self.arch.registers)), np.uint64)
        for number, first, end in self.spans(self.steps):
            self.fill(number, out[first:end], np.empty(end - first, np.uint8))
        return out

    def sizes(self) -> NDArray[np.uint8]:
        """The length of every instruction."""
        out = self._empty((self.steps,), np.uint8)
        for number, first, end in self.spans(self.steps):
            content, offset, what = self._steps(number)
            try:
                out[first:end] = decode_sizes(self.arch, content, end - first)
            except Malformed as error:
                raise self.blocks.error(offset, f"{what}: {error}") from error
        return out

    def journal(self) -> Writes:
        """Every write."""
        kinds = (np.uint32, np.uint64, np.uint8, np.uint64)
        columns = [self._empty((self.writes,), kind) for kind in kinds]
        before = 0
        for number, first, end in self.spans(self.writes):
            part = self.written(number, end - first, before)
            for column, its in zip(columns, (part.step, part.address, part.size, part.value), strict=True):
                column[first:end] = its
            before = int(part.step[-1])
        return Writes(*columns)

    def written(self, number: int, count: int, before: int) -> Writes:
        """The entries of one block of the journal; ``before`` is the step of the one before them."""
        what = f"the chunk of write {number * self.rows}"
        content, offset = self.blocks.read(WRITES, number, what)
        try:
            return decode_writes(content, count, self.steps, before)
        except Malformed as error:
            raise self.blocks.error(offset, f"{what}: {error}") from error

    def _steps(self, number: int) -> tuple[bytes, int, str]:
        what = f"the chunk of step {number * self.rows}"
        content, offset = self.blocks.read(STEPS, number, what)
        return content, offset, what

    def held(self) -> int:
        """How many bytes all columns take in memory."""
        return self.steps * (8 * len(self.arch.registers) + 1) + self.writes * (4 + 8 + 1 + 8)

    @property
    def fit(self) -> bool:
        """False where holding all columns would cost more than this file may: the run has to be taken in pieces."""
        return self.held() // OF_COLUMNS <= self.blocks.account.left("unpacked")

    def hold(self) -> None:
        """All columns are going to be held. Raises BudgetExceeded where they do not fit."""
        self.blocks.account.spend("unpacked", self.held() // OF_COLUMNS)

    def _empty(self, shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
        try:
            return np.empty(shape, kind)
        except MemoryError as error:
            raise self.blocks.error(0, f"{self.steps} steps and {self.writes} writes do not fit into memory") from error


class SavedTrace(Trace):
    """A trace in a file. ``registers``, ``sizes`` and ``writes`` are read when they are first asked for; one register
    alone (`column`) without the others. What is wrong with them is said then: TraceFileError.
    """

    _columns: Columns

    @classmethod
    def of(
        cls,
        columns: Columns,
        images: tuple[LoadedImage, ...],
        initial: tuple[Region, ...],
        end: Exited | EmulationError,
        seed: int,
    ) -> SavedTrace:
        trace = object.__new__(cls)
        given = {"arch": columns.arch, "images": images, "initial": initial, "end": end, "seed": seed, "resumed": ()}
        for name, value in {**given, "_columns": columns}.items():
            object.__setattr__(trace, name, value)
        return trace

    def __getattr__(self, name: str) -> Any:
        """The columns, the first time."""
        columns: Columns | None = self.__dict__.get("_columns")
        if columns is None or name not in ("registers", "sizes", "writes"):
            raise AttributeError(name)
        if not self.__dict__.keys() & {"registers", "sizes", "writes"}:
            columns.hold()
        if name == "registers":
            value: Any = columns.registers()
        else:
            value = columns.sizes() if name == "sizes" else columns.journal()
        object.__setattr__(self, name, value)
        return value

    @property
    def fits(self) -> bool:
        """Whether it may be held as a whole; else `chunks` gives it in pieces."""
        return self._columns.fit

    def __len__(self) -> int:
        columns: Columns | None = self.__dict__.get("_columns")
        return columns.steps if columns else len(self.registers)

    def column(self, register: str) -> NDArray[np.uint64]:
        if "registers" in self.__dict__:
            return super().column(register)
        return self._columns.column(register)

    def load(self) -> SavedTrace:
        """Read all of it now. Raises TraceFileError where anything is wrong."""
        for name in ("registers", "sizes", "writes"):
            getattr(self, name)
        return self

    def chunks(self) -> Chunks:
        """The run in pieces, without holding more than one of them: see `testbed.trace.trace`."""
        return lambda start: _chunks(self, start)


def _chunks(trace: SavedTrace, start: Checkpoint | None) -> Iterator[Chunk]:
    """``context`` of a keyframe is how many entries of the journal come before it."""
    # Compiled code is behind this one: only a run in pieces needs it.
    from testbed.trace.rolling_memory import RollingMemory

    columns = trace._columns
    memory = RollingMemory(start.memory if start else trace.initial)
    first, entry = (start.first, int(start.context)) if start else (0, 0)
    rows, width = AT_ONCE * columns.rows, len(trace.arch.registers)
    both = [(np.empty((SPARE + rows, width), np.uint64), np.empty(SPARE + rows, np.uint8)) for _ in range(HELD)]
    journal = _Journal(columns, entry)
    for table, lengths in cycle(both):
        end = min(first + rows, columns.steps)
        for at in range(first, end, columns.rows):
            low, high = SPARE + at - first, SPARE + min(at + columns.rows, end) - first
            columns.fill(at // columns.rows, table[low:high], lengths[low:high])
        writes = journal.until(end, first)
        high, last = SPARE + end - first, end == columns.steps
        goes_on = EmulationError(0, "the run goes on in the next chunk")
        piece = Trace(
            arch=trace.arch,
            images=trace.images,
            registers=table[SPARE:high],
            sizes=lengths[SPARE:high],
            writes=writes,
            initial=memory.regions(),
            end=trace.end if last else goes_on,
            seed=trace.seed,
        )
        yield Chunk(first, piece, trace.end if last else None, table[:high], lengths[:high], 0, entry)
        if last:
            return
        memory.apply(writes)
        first, entry = end, entry + len(writes)


class _Journal:
    """The journal of a file, read from one entry on."""

    def __init__(self, columns: Columns, entry: int) -> None:
        self._columns, self._number, self._left = columns, entry // columns.rows, _nothing()
        self._skip, self._last = entry % columns.rows, 0

    def until(self, end: int, first: int) -> Writes:
        """The entries of the steps before ``end``, which count from ``first`` in them."""
        parts = [self._left]
        count, rows = self._columns.writes, self._columns.rows
        while self._number * rows < count and not (len(parts[-1]) and int(parts[-1].step[-1]) >= end):
            size = min(rows, count - self._number * rows)
            part = self._columns.written(self._number, size, self._last)
            self._last = int(part.step[-1])
            parts.append(part.part(self._skip, size))
            self._number, self._skip = self._number + 1, 0
        whole = Writes.joined(parts)
        cut = int(np.searchsorted(whole.step, end))
        self._left = whole.part(cut, len(whole))
        now = whole.part(0, cut)
        return replace(now, step=now.step - np.uint32(first))


def _nothing() -> Writes:
    return Writes(np.empty(0, np.uint32), np.empty(0, np.uint64), np.empty(0, np.uint8), np.empty(0, np.uint64))
