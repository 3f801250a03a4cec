"""Run a program and keep everything: the one way from an image to a trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from testbed.image import Image, LoadedImage, describe
from testbed.machine.load import load
from testbed.machine.python_hooks import record_light
from testbed.machine.start import start_machine
from testbed.machine.stops import Fault
from testbed.machine.tape import Recorder
from testbed.program.header import Signal
from testbed.trace import Exited, Trace
from testbed.words.errors import EmulationError

LAST_STEPS = 8
# Loading the native recorder takes as long as recording this many steps with the light one.
NATIVE_FROM = 250_000


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
            from testbed.machine.native.record import record_native  # numba: only for a run that is long

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
