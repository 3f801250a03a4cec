"""A process in pieces: memory is bounded by one of them, however long it runs.

It runs once to see what it does: its threads, its files, and all memory that there ever is. Whoever wants steps has it
run again, which gives the same to the last byte: so what the kernel knows is never stored. A thread's steps come as the
chunks of `testbed.trace.chunk`, its writes numbered as in `testbed.process.tracks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.image import Image
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.machine.recording import told_ending
from testbed.machine.stops import Fault
from testbed.process.known_files import FileReading
from testbed.process.process_run import ProcessRun, finished, shown_program
from testbed.process.running import run_on
from testbed.process.starting import ENVIRONMENT, MOST_MEMORY, ProcessInputs, started
from testbed.process.state import Process
from testbed.process.tracks import LeftStacks, Pieces, ending_of, own_steps
from testbed.trace import Exited, Region, Trace, Writes
from testbed.trace.chunk import CHUNK, SPARE, Chunk
from testbed.trace.rolling_memory import RollingMemory
from testbed.words.budget import LEAST, free_garbage
from testbed.words.errors import EmulationError, UsageError
from testbed.words.files import WorkFolder


class NotInPieces(UsageError):
    """A program that does what a run in pieces does not carry from one to the next: it has to be held whole."""


@dataclass(frozen=True, eq=False)
class ProcessPiece:
    """The steps from ``first`` on, of all threads in turn; ``spans`` are where each thread's own lie in it."""

    first: int
    registers: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    spans: Mapping[int, Pieces]


@dataclass(frozen=True, slots=True)
class LongThread:
    """A thread of a long process: how many steps it made, how it ended, and where it took over a stack."""

    number: int
    steps: int
    ending: Exited | Fault
    taken_over: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LongProcess:
    """A process that ran, and runs again whenever a thread's steps are asked for. ``run`` has no tracks."""

    run: ProcessRun
    threads: tuple[LongThread, ...]
    initial: tuple[Region, ...] = field(repr=False)
    image: Image = field(repr=False)
    inputs: ProcessInputs = field(repr=False)
    piece: int

    def chunks(self, thread: LongThread) -> Iterator[Chunk]:
        """The steps of one thread, a chunk for every piece in which it has any."""
        memory, first = RollingMemory(self.initial), 0
        registers: list[NDArray[np.uint64]] = []
        sizes: list[NDArray[np.uint8]] = []
        writes: list[Writes] = []
        for piece in _pieces(self.image, self.inputs, self.piece, []):
            spans, made = piece.spans.get(thread.number, ()), sum(map(len, sizes))
            if not spans and not first and not made:
                memory.apply(piece.writes)
                continue
            steps = piece.writes.step.astype(np.int32).astype(np.int64)  # -1: before the piece
            numbers = own_steps(spans, steps) if spans else np.full(len(steps), -1)
            before = int(np.count_nonzero(numbers < 0)) if not first and not made else 0
            memory.apply(piece.writes.part(0, before))
            later = piece.writes.part(before, len(numbers))
            # One by others before this chunk's first step is numbered -1: by the last step of the chunk before.
            writes.append(replace(later, step=(numbers[before:] + made).astype(np.uint32)))
            registers += [piece.registers[a:b] for a, b in spans]
            sizes += [piece.sizes[a:b] for a, b in spans]
            made = sum(map(len, sizes))
            is_last = first + made == thread.steps
            if made < LEAST and not is_last:
                continue
            is_told = isinstance(thread.ending, Fault)  # with its last steps, whose instructions are read
            initial = memory.regions() if not first or (is_last and is_told) else ()
            yield self._chunk(thread, first, (np.concatenate(registers), np.concatenate(sizes)), writes, initial)
            if is_last:
                return
            for each in writes if is_told else ():
                memory.apply(each)
            first, registers, sizes, writes = first + made, [], [], []

    def _chunk(
        self,
        thread: LongThread,
        first: int,
        columns: tuple[NDArray[np.uint64], NDArray[np.uint8]],
        writes: Sequence[Writes],
        initial: tuple[Region, ...],
    ) -> Chunk:
        """``initial`` is memory before the chunk; whoever follows the journals needs it of the first one only."""
        registers, sizes = columns
        table = np.empty((SPARE + len(sizes), registers.shape[1]), np.uint64)
        lengths = np.empty(SPARE + len(sizes), np.uint8)
        table[SPARE:], lengths[SPARE:] = registers, sizes
        trace = Trace(
            self.run.arch,
            self.run.images,
            table[SPARE:],
            lengths[SPARE:],
            Writes.joined(writes),
            initial,
            end=EmulationError(0, "the run goes on in the next chunk"),
            seed=self.inputs.seed,
            taken_over=tuple(step - first for step in thread.taken_over if first <= step < first + len(sizes)),
        )
        end = None
        if first + len(sizes) == thread.steps:
            end = told_ending(trace, thread.ending)
            object.__setattr__(trace, "end", end)
        return Chunk(first, trace, end, table, lengths)


def run_in_pieces(
    path: Path | str,
    arguments: Sequence[str] = (),
    *,
    seed: int = 1,
    budget: int,
    piece: int = CHUNK,
    stdin: bytes = b"",
    environment: Mapping[str, str] = ENVIRONMENT,
    sysroot: Path | str | None = None,
    folders: Mapping[str, Path | str] | None = None,
    folder: str = "/",
    memory: int = MOST_MEMORY,
    debug: DebugDirs = NOWHERE,
    conventions: tuple[tuple[str, str], ...] = (),
) -> LongProcess:
    """Run a program as `testbed.process.run_process` does, ``piece`` steps at a time, and keep no step.

    Raises NotInPieces where signals are handled: such a run is held whole. Of no child a step is kept.
    """
    assert piece >= LEAST
    reading = FileReading(debug, conventions)
    image, shown = shown_program(path, sysroot, folders or {}, reading)
    inputs = ProcessInputs(tuple(arguments), seed, budget, stdin, environment, shown, folder, memory, reading)
    last: list[tuple[Process, ProcessRun, Exited | str]] = []
    left, taken = LeftStacks(image.arch.word), dict[int, list[int]]()
    for each in _pieces(image, inputs, piece, last):
        sp = each.registers[:, image.arch.index[image.arch.sp]]
        for number, steps in left.taken_over(sp, each.spans).items():
            taken[number] = taken.get(number, []) + [each.first + step for step in steps]
        if not each.sizes.all():
            raise NotInPieces(f"{image.path.name} handles a signal, so it cannot be run in pieces: leave out --chunk")
    process, run, end = last[0]
    threads = tuple(
        LongThread(
            thread.number,
            sum(b - a for a, b in thread.pieces),
            ending_of(thread, end, process.current),
            tuple(own_steps(thread.pieces, np.array(taken.get(thread.number, ()), np.int64)).tolist()),
        )
        for thread in process.threads
        if thread.pieces and not thread.vfork_child
    )
    return LongProcess(run, threads, tuple(process.memory.initial), image, inputs, piece)


def _pieces(
    image: Image, inputs: ProcessInputs, piece: int, last: list[tuple[Process, ProcessRun, Exited | str]]
) -> Iterator[ProcessPiece]:
    """One run, piece by piece. What became of it is put into ``last``."""
    free_garbage()  # the run before this one
    with WorkFolder("process") as written:
        process, streams = started(image, inputs, Path(written), piece)
        try:
            for each in run_on(process.kernel):
                if each is process:
                    yield _piece(process)
                else:
                    each.recorder.next_piece()
            yield _piece(process)
        finally:
            for each in process.kernel.living:
                each.descriptors.close_all()
        assert process.ends is not None
        last.append((process, finished(process, streams, inputs.seed, whole=False), process.ends.end))


def _piece(process: Process) -> ProcessPiece:
    end = process.recorder.total
    registers, sizes, writes = process.recorder.next_piece()
    first = end - len(sizes)
    spans = {
        thread.number: tuple((max(a, first) - first, b - first) for a, b in thread.pieces if b > first)
        for thread in process.threads
    }
    return ProcessPiece(first, registers, sizes, writes, {number: each for number, each in spans.items() if each})
