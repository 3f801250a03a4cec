"""Run a program of the corpus and keep everything: from an image to a trace, or of a long run to pieces of one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from unicorn import unicorn_const as const

from testbed.image import Image, LoadedImage, describe
from testbed.machine.columns import Column
from testbed.machine.hooked_run import MOST_STEPS, NATIVE_FROM, SLACK, HookedRun
from testbed.machine.signals import Delivery, enter_handler, frame_at_return
from testbed.machine.start import Machine, load, start_machine
from testbed.machine.stops import Fault
from testbed.machine.unicorn_arches import UNICORN
from testbed.program.header import Signal
from testbed.trace import Exited, Trace, Writes
from testbed.trace.rolling_memory import RollingMemory
from testbed.trace.trace import HELD, SPARE, Checkpoint, Chunk, Chunks, usual_chunk
from testbed.words.budget import LEAST
from testbed.words.errors import EmulationError

LAST_STEPS = 8
ROOM, CHUNK = 1 << 14, 1 << 22  # steps, and writes, that room is made for at first, also natively; then it is doubled


@dataclass(frozen=True, eq=False)
class Tape:
    """A raw recording, in the columns of `testbed.trace.Trace`; values are cut to their register's width.

    Every instruction whose execution began has a row, the one that faulted included; an instruction at which
    the step budget was used up has none. A row of size 0 is the state that a signal interrupted; ``resumed`` are the
    steps before which ``rt_sigreturn`` gave a state back.
    """

    registers: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    ending: Exited | Fault
    resumed: tuple[int, ...] = ()


class Recorder(Protocol):
    """Runs a machine to its end, for at most ``budget`` steps, and records it."""

    def __call__(self, machine: Machine, budget: int) -> Tape: ...


class _WholeRun(HookedRun):
    """A run from its start to its end, over every signal on the way."""

    def __init__(self, machine: Machine, budget: int, natively: bool) -> None:
        super().__init__(machine, lambda run, journal: self._grow(journal), natively=natively)
        self._room, self._budget = CHUNK if natively else ROOM, budget
        self._arrived: list[Delivery] = []
        self.resumed: list[int] = []

    def _grow(self, journal: bool) -> None:
        if journal:
            self.grow_writes(max(2 * self.writes, self._room))
        else:
            self.grow_steps(min(max(2 * self.steps, self._room), self._budget, MOST_STEPS))

    def is_left_to_host(self, address: int, code: bytes) -> bool:
        """True where a signal may arrive. Its row is that of the instruction, which then does not execute."""
        if address not in self.stops.arrivals.places:
            return False
        if signal := self.stops.arrivals.before(address):
            ctypes.c_uint8.from_address(self.state.sizes + self.steps - 1).value = 0
            self._arrived.append(signal)
            self.state.ended = 1
            self.stop()
        return True

    def tape(self) -> Tape:
        """Run to the end; what was recorded."""
        machine, stops = self.machine, self.stops
        self.begin(self._budget)
        start: int | None = machine.start
        while start is not None:
            status = self.go(start)
            if stops.wild_jump is not None:
                values = [machine.uc.reg_read(number) for number in self._ids]
                values[machine.arch.index[machine.arch.pc]] = stops.wild_jump
                if self.steps >= self.state.capacity:
                    self._grow(journal=False)
                self.add_row(values)
                self._arrived.append(stops.arrivals.fault())
                stops.wild_jump = None
            start = None
            if stops.ending is None and self._arrived:
                self.go_on()
                start = self._deliver(self._arrived.pop())
            elif stops.ending is None and stops.gives_back:
                stops.gives_back = False
                self.resumed.append(self.steps)
                self.go_on()
                start = _give_back(machine)
        steps, writes = self.steps, self.writes
        return Tape(
            self.rows.filled(steps).reshape(-1, self.count),
            self.sizes.filled(steps),
            Writes(*(column.filled(writes) for column in self.journal)),
            self.ending(status, self._budget),
            tuple(self.resumed),
        )

    def _deliver(self, signal: Delivery) -> int:
        """Do what the kernel does for a signal; where to go on."""
        arch, uc = self.machine.arch, self.machine.uc
        last = self.rows.view(self.steps)[-self.count :].tolist()
        writes, changed = enter_handler(arch, signal, dict(zip(arch.index, last, strict=True)))
        for address, size, value in writes:
            uc.mem_write(address, value.to_bytes(size, "little"))
            self.add_write(address, size, value)
        for name, value in changed.items():
            uc.reg_write(UNICORN[arch.name].registers[name], value)
        return signal.handler


def _give_back(machine: Machine) -> int:
    """Load all registers from the signal frame; where to go on."""
    arch, uc, ids = machine.arch, machine.uc, UNICORN[machine.arch.name].registers
    frame = frame_at_return(arch, uc.reg_read(ids[arch.sp]))
    values: dict[str, int] = {}
    for name, offset in arch.signal_frame.registers.items():
        values[name] = int.from_bytes(uc.mem_read(frame + offset, arch.by_name[name].bits // 8), "little")
        uc.reg_write(ids[name], values[name])
    return values[arch.pc] | arch.isa_of_flags(values[arch.flags]).address_bit


def record_light(machine: Machine, budget: int) -> Tape:
    """Run a machine to its end, or for ``budget`` steps, with hooks in Python: nothing is compiled."""
    return _WholeRun(machine, budget, natively=False).tape()


def record_native(machine: Machine, budget: int) -> Tape:
    """The same with compiled hooks, for runs of millions of steps."""
    return _WholeRun(machine, budget, natively=True).tape()


def record(
    image: Image | LoadedImage,
    *,
    seed: int = 1,
    budget: int = 1_000_000,
    recorder: Recorder | None = None,
    signals: Iterable[Signal] = (),
    cpu: str | None = None,
) -> Trace:
    """Run a program from its entry to its exit, with registers planted from ``seed``; ``signals`` arrive on the way.
    ``cpu`` names a CPU model of the architecture that is not the usual one.

    Without a ``recorder`` the light one begins. A run that is not over after `NATIVE_FROM` steps starts once more with
    the native one, which writes down the same: doing those steps again takes it less time than loading did.

    A program that does not exit is no exception here: its trace ends with the EmulationError, and the steps
    until then are valid. Raises ImageError for an image that cannot be mapped.
    """
    loaded = image if isinstance(image, LoadedImage) else load(image)
    machine = start_machine(loaded, seed=seed, signals=signals, cpu=cpu)
    if machine.signals:  # signals come from the light recorder, whatever else is asked for: their programs are short
        tape = record_light(machine, budget)
    else:
        tape = (recorder or record_light)(machine, budget if recorder else min(budget, NATIVE_FROM))
        if not recorder and budget > NATIVE_FROM and len(tape.sizes) == NATIVE_FROM and isinstance(tape.ending, Fault):
            machine = start_machine(loaded, seed=seed, cpu=cpu)
            tape = record_native(machine, budget)
    trace = Trace(
        arch=machine.arch,
        images=(loaded,),
        registers=tape.registers,
        sizes=tape.sizes,
        writes=tape.writes,
        initial=tuple(mapping.region for mapping in machine.mappings),
        end=Exited(0),  # known below: an error is told with what was recorded
        seed=seed,
        resumed=tape.resumed,
    )
    return replace(trace, end=told_ending(trace, tape.ending))


def told_ending(trace: Trace, fault: Exited | Fault) -> Exited | EmulationError:
    """How a run ended, for people: a fault with its place and the last steps of what was recorded."""
    if isinstance(fault, Exited):
        return fault
    pc = fault.pc if fault.pc is not None else int(trace.pc[-1])
    first = max(0, len(trace) - LAST_STEPS)
    return EmulationError(
        pc,
        fault.detail,
        where=describe(trace.images, pc),
        last_steps=[_line(trace, step) for step in range(first, len(trace))],
    )


def _line(trace: Trace, step: int) -> str:
    """``symbol+0x4  instruction`` of one step."""
    from testbed.image.disassembly import disassemble  # capstone: only where something went wrong

    pc = int(trace.pc[step])
    if trace.interrupted(step):
        return f"{describe(trace.images, pc)}  a signal arrives"
    code = trace.memory(step).read(pc, int(trace.sizes[step]))
    return f"{describe(trace.images, pc)}  {disassemble(trace.isa(step), code, pc)}"


# Long runs in pieces: memory is bounded by one of them, however long the run is.
#
# Every second piece is written into the same columns, so that the system gives new memory once and not for every step:
# on runs of 10^7 steps that had been a third of all time. A piece begins with all registers read; between two pieces
# the emulator is stopped and started again, which takes some 20 microseconds.


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
