"""The run loop: the machine executes until something stops it, the kernel does what is asked, a thread goes on."""

from __future__ import annotations

from collections.abc import Generator

from unicorn import unicorn_const as const

from testbed.machine.clock_reads import CLOCK_READS
from testbed.machine.native import places
from testbed.process.faults import UNDEFINED, meaning_of, take_access, take_exception
from testbed.process.kernel_entry import Called, Raised, Refused
from testbed.process.scheduling import choose, end_thread, finish_call
from testbed.process.signals import deliver
from testbed.process.state import Process, ProcessEnds
from testbed.process.system_calls import begin_call


def run_to_end(process: Process) -> ProcessEnds:
    """Run a process until it ends; how it does."""
    running = run_on(process)
    while True:
        try:
            next(running)
        except StopIteration as end:
            ends: ProcessEnds = end.value
            return ends


def run_on(process: Process) -> Generator[None, None, ProcessEnds]:
    """Run a process; it waits whenever a piece is full, before anything else executes. At last: how it ends."""
    recorder = process.recorder
    try:
        while True:
            _execute(process)
            if not recorder.cut_short:
                _leave_kernel(process)
            if recorder.piece_is_full:
                process.current.ran(process.piece_start, recorder.total)
                process.piece_start = recorder.total
                yield
    except ProcessEnds as ends:
        process.current.ran(process.piece_start, recorder.total)
        return ends


def _execute(process: Process) -> None:
    """Run the current thread until it leaves for the kernel, and do what it left for."""
    recorder = process.recorder
    recorder.plan_code(process.memory)
    status = recorder.execute(recorder.next_address())
    entered = recorder.kernel_stops.entered
    if recorder.state[places.OVER]:
        raise ProcessEnds(None, "its steps are used up: raise the budget, or it never ends")
    if recorder.reads_clock:
        _read_clock(process)
    elif isinstance(entered, Called):
        begin_call(process)
        _call(process)
    elif isinstance(entered, Refused):
        take_access(process, entered)
    elif isinstance(entered, Raised):
        meaning = meaning_of(process, entered)
        if meaning is None:
            raise ProcessEnds(None, f"processor exception {entered.number} is not emulated")
        take_exception(process, meaning)
    elif status == const.UC_ERR_INSN_INVALID:
        take_exception(process, UNDEFINED)
    elif recorder.stopped and status == const.UC_ERR_OK:
        process.turn_is_over |= not recorder.cut_short
    else:
        raise ProcessEnds(None, f"the emulator stopped by itself (Unicorn status {status})")


def _call(process: Process) -> None:
    try:
        finish_call(process)
    except ProcessEnds as ends:
        if ends.status is None or not process.current.vfork_child:
            raise
        process.current.status = ends.status  # exit_group of a child whose parent waits for it
    if process.current.status is not None:
        end_thread(process)


def _leave_kernel(process: Process) -> None:
    """Before a thread goes on: whose turn it is, and the signals that have come for it.

    A handler may begin on top of another one's first instruction; the last one delivered runs first.
    """
    choose(process)
    while deliver(process):
        pass


def _read_clock(process: Process) -> None:
    """Do the instruction whose hook has just run, and go behind it."""
    recorder, arch = process.recorder, process.arch
    size = int(recorder.sizes.view(recorder.steps)[-1])
    pc = recorder.last_pc()
    read = CLOCK_READS[arch.name](bytes(recorder.uc.mem_read(pc, size)))
    assert read is not None
    for i, register in enumerate(read.into):
        recorder[register] = process.monotonic >> read.bits * i & ((1 << read.bits) - 1)
    for register in read.zeroed:
        recorder[register] = 0
    recorder[arch.pc] = pc + size
