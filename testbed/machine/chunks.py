"""Long runs in pieces: memory is bounded by one of them, however long the run is.

Every second piece is written into the same columns, so that the system gives new memory once and not for every step:
on runs of 10^7 steps that had been a third of all time. A piece begins with all registers read; between two pieces the
emulator is stopped and started again, which takes some 20 microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle

import numpy as np
from unicorn import unicorn_const as const

from testbed.image import Image, LoadedImage
from testbed.machine.columns import Column
from testbed.machine.hooked_run import MOST_STEPS, SLACK, HookedRun
from testbed.machine.load import load
from testbed.machine.recording import told_ending
from testbed.machine.start import Machine, start_machine
from testbed.machine.unicorn_arches import UNICORN
from testbed.trace import Exited, Trace, Writes
from testbed.trace.chunk import HELD, SPARE, Checkpoint, Chunk, Chunks, usual_chunk
from testbed.trace.rolling_memory import RollingMemory
from testbed.words.budget import LEAST
from testbed.words.errors import EmulationError


def record_chunks(
    image: Image | LoadedImage,
    *,
    seed: int = 1,
    budget: int = 1_000_000,
    chunk: int | None = None,
    start: Checkpoint | None = None,
    cpu: str | None = None,
    held: int = HELD,
) -> Iterator[Chunk]:
    """Run a program as `testbed.machine.record` does, ``chunk`` steps at a time, from its entry or from a keyframe.

    Without ``chunk`` it is `usual_chunk`.
    The chunks together are the recording. A chunk's columns are written over when number ``held`` after it is asked
    for, the second one. Signals are not sent. Raises ImageError for an image that cannot be mapped.
    """
    loaded = image if isinstance(image, LoadedImage) else load(image)
    machine = start_machine(loaded, seed=seed, cpu=cpu)
    memory = RollingMemory(mapping.region for mapping in machine.mappings)
    first = 0
    if start is not None:
        machine, memory, first = _moved_to(machine, start), RollingMemory(start.memory), start.first
    chunk = chunk or usual_chunk(machine.arch)
    assert LEAST <= chunk < MOST_STEPS - SLACK

    run = HookedRun(machine, _stop_after(chunk))
    columns = []
    for _ in range(held):
        run.rows, run.sizes = Column(np.uint64, run.count), Column(np.uint8)
        run.grow_steps(chunk + SLACK, spare=SPARE)
        columns.append((run.rows, run.sizes))
    at = machine.start
    for rows, sizes in cycle(columns):
        run.write_into(rows, sizes, spare=SPARE)
        run.limit_steps(chunk)
        run.begin(budget - first)
        begun, context = at, machine.uc.context_save()
        status = run.go(at)
        at = machine.uc.reg_read(UNICORN[machine.arch.name].registers[machine.arch.pc])
        goes_on = run.stopped and not run.over and status == const.UC_ERR_OK
        # The hook of the instruction at which the machine stopped has run; the instruction has not.
        steps = run.steps - (goes_on and run.last_pc() == at)
        table, lengths = run.rows.view(SPARE + steps).reshape(-1, run.count), run.sizes.view(SPARE + steps)
        writes = Writes(*(column.view(run.writes).copy() for column in run.journal))
        end: Exited | EmulationError = EmulationError(at, "the run goes on in the next chunk")
        piece = Trace(
            machine.arch, (loaded,), table[SPARE:], lengths[SPARE:], writes, memory.regions(), end=end, seed=seed
        )
        if not goes_on:
            end = told_ending(piece, run.ending(status, budget))
            yield Chunk(first, replace(piece, end=end), end, table, lengths, begun, context)
            return
        yield Chunk(first, piece, None, table, lengths, begun, context)
        first += steps
        memory.apply(piece.writes)
        at |= isa_bit(machine)


def _stop_after(chunk: int) -> Callable[[HookedRun, bool], None]:
    """What a run does when its columns are full: the journal grows, and after ``chunk`` steps it stops."""

    def full(run: HookedRun, journal: bool) -> None:
        if journal:
            run.grow_writes(max(2 * run.writes, chunk))
            return
        if run.steps >= chunk + SLACK:
            raise RuntimeError(f"the emulator does not stop: {SLACK} steps after it was asked to")
        run.stop()  # every time: inside an IT block the emulator forgets that it was asked
        run.limit_steps(run.steps + 1)

    return full


def chunks_of(
    image: Image | LoadedImage,
    *,
    seed: int = 1,
    budget: int,
    chunk: int | None = None,
    cpu: str | None = None,
    held: int = HELD,
) -> Chunks:
    """A run in pieces, as often as it is asked for, from its entry or from a keyframe: a program always runs alike."""
    return lambda start: record_chunks(image, seed=seed, budget=budget, chunk=chunk, start=start, cpu=cpu, held=held)


def _moved_to(machine: Machine, start: Checkpoint) -> Machine:
    """The machine as it was at a keyframe of an earlier run."""
    for region in start.memory:
        machine.uc.mem_write(region.address, region.data)
    machine.uc.context_restore(start.context)
    return replace(machine, start=start.start)


def isa_bit(machine: Machine) -> int:
    """The address bit of the instruction set in force."""
    flags = machine.uc.reg_read(UNICORN[machine.arch.name].registers[machine.arch.flags])
    return machine.arch.isa_of_flags(flags).address_bit
