"""The run loop: the machine executes until something stops it, the kernel does what is asked, a thread goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unicorn import unicorn_const as const

from testbed.arch import PerArch
from testbed.image.disassembly import disassemble
from testbed.machine.clock_reads import CLOCK_READS
from testbed.machine.stops import FETCHES
from testbed.process.calls_processes import end_process
from testbed.process.recorder import Called, Raised, Refused
from testbed.process.scheduling import choose, end_thread, finish_call
from testbed.process.shared_writes import share_writes
from testbed.process.signals import can_handle, deliver, fault_info, force
from testbed.process.state import SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, Kernel, Process, ProcessEnds, RunIsOver
from testbed.process.system_calls import begin_call
from testbed.process.threads import Refusal

# What the processor refuses, as signals: which one, and whether its instruction executed.

_VERBS = {
    const.UC_MEM_READ_UNMAPPED: "reads",
    const.UC_MEM_READ_PROT: "reads",
    const.UC_MEM_WRITE_UNMAPPED: "writes",
    const.UC_MEM_WRITE_PROT: "writes",
}
_MAP_ERROR, _ACCESS_ERROR = 1, 2
_LONGEST = 15  # bytes of an instruction


@dataclass(frozen=True, slots=True)
class FaultMeaning:
    """The signal for a processor exception, its code; ``executed``: the pc is behind the instruction, as for int3."""

    signal: int
    code: int
    why: str
    executed: bool = False


_ARM = {
    1: FaultMeaning(SIGILL, 1, "undefined instruction"),
    3: FaultMeaning(SIGSEGV, _MAP_ERROR, "prefetch abort"),
    4: FaultMeaning(SIGBUS, 1, "data abort"),
    7: FaultMeaning(SIGTRAP, 1, "breakpoint"),
}

# arch/x86/kernel/traps.c; arch/arm64/kernel/traps.c; arch/arm/kernel/traps.c
MEANINGS = PerArch(
    {
        "x86_64": {
            0: FaultMeaning(SIGFPE, 1, "divide error"),
            1: FaultMeaning(SIGTRAP, 2, "debug trap", executed=True),
            3: FaultMeaning(SIGTRAP, 0x80, "breakpoint", executed=True),
            4: FaultMeaning(SIGSEGV, 0x80, "overflow", executed=True),
            6: FaultMeaning(SIGILL, 2, "undefined instruction"),
            13: FaultMeaning(SIGSEGV, 0x80, "protection fault"),
            16: FaultMeaning(SIGFPE, 7, "x87 exception"),
            17: FaultMeaning(SIGBUS, 1, "misaligned access"),
            19: FaultMeaning(SIGFPE, 7, "SIMD exception"),
        },
        "arm64": _ARM,
        "arm32": _ARM,
    }
)
UNDEFINED = FaultMeaning(SIGILL, 2, "undefined instruction, or one that the emulator does not have")


def take_access(process: Process, refused: Refused) -> None:
    """An access that memory does not allow: SIGSEGV. Raises ProcessEnds where nothing handles it.

    The instruction is the last step then, as a core file has it; before a handler it is none, for it runs again.
    """
    recorder, memory = process.recorder, process.memory
    address = refused.address & process.arch.word_mask
    if refused.kind in FETCHES:  # the jump executed; where it leads, nothing does
        address = process.arch.code_address(address)
        recorder[process.arch.pc] = address
        what = f"jumps to {address:#x}"
    else:
        (recorder.drop_faulting if can_handle(process, SIGSEGV) else recorder.drop_refused_writes)(memory)
        what = f"{_VERBS.get(refused.kind, 'touches')} {refused.size} bytes at {address:#x}"
    mapped = memory.area_at(address) is not None
    code = _ACCESS_ERROR if mapped else _MAP_ERROR
    why = f"{what}, which it may not," if mapped else f"{what}, which is not mapped,"
    force(process, SIGSEGV, fault_info(process, SIGSEGV, code, address), why)


def take_exception(process: Process, meaning: FaultMeaning) -> None:
    """A processor exception. Raises ProcessEnds where nothing handles its signal."""
    recorder = process.recorder
    pc = recorder.last_pc()
    if not can_handle(process, meaning.signal):
        recorder.drop_refused_writes(process.memory)
    elif not meaning.executed:
        recorder.drop_faulting(process.memory)
        recorder[process.arch.pc] = pc
    info = fault_info(process, meaning.signal, meaning.code, pc)
    what = f"{meaning.why} ({_instruction(process, pc)})" if meaning.signal == SIGILL else meaning.why
    force(process, meaning.signal, info, what)


def _instruction(process: Process, pc: int) -> str:
    """As text, or its bytes."""
    arch, memory = process.arch, process.memory
    isa = 0 if arch.isa_flag is None else process.recorder[arch.flags] >> arch.isa_flag & 1
    area = memory.area_at(pc)
    try:
        code = memory.read(pc, min(_LONGEST, area.end - pc) if area else 1)
    except Refusal:  # mapped to be executed only
        return "not to be read"
    return disassemble(arch.isas[isa], code, pc)


def run_on(kernel: Kernel) -> Iterator[Process]:
    """Run all processes until each has ended; all wait whenever a piece of one is full, which is to be taken then."""
    try:
        while kernel.living:
            process = kernel.current
            recorder = process.recorder
            try:
                _execute(process)
                if len(kernel.processes) > 1 and not kernel.left:
                    raise _used_up(kernel)
                if kernel.interrupted():
                    raise RunIsOver(f"interrupted after {kernel.steps:,} steps")
            except ProcessEnds as ends:
                end_process(process, ends)
            if process.ends is not None or not recorder.cut_short:
                _leave_kernel(kernel)
            if process.ends is None and recorder.piece_is_full:
                process.current.ran(process.piece_start, recorder.total)
                process.piece_start = recorder.total
                share_writes(process)
                yield process
    except RunIsOver as why:
        for process in list(kernel.living):
            end_process(process, ProcessEnds(None, str(why)))


def _execute(process: Process) -> None:
    """Run the current thread until it leaves for the kernel, and do what it left for."""
    recorder = process.recorder
    recorder.plan_code(process.memory)
    status = recorder.execute()
    entered = recorder.kernel_stops.entered
    if recorder.state.over:
        raise _used_up(process.kernel)
    if recorder.reads_clock:
        _read_clock(process)
    elif isinstance(entered, Called):
        begin_call(process)
        _call(process)
    elif isinstance(entered, Refused):
        take_access(process, entered)
    elif isinstance(entered, Raised):
        meaning = MEANINGS[process.arch.name].get(entered.number)
        if meaning is None:
            raise ProcessEnds(None, f"processor exception {entered.number} is not emulated")
        take_exception(process, meaning)
    elif status == const.UC_ERR_INSN_INVALID:
        take_exception(process, UNDEFINED)
    elif recorder.stopped and status == const.UC_ERR_OK:
        process.kernel.turn_is_over |= not recorder.cut_short
    else:
        raise ProcessEnds(None, f"the emulator stopped by itself (Unicorn status {status})")


def _used_up(kernel: Kernel) -> RunIsOver:
    more = "1G" if kernel.budget < 1_000_000_000 else f"{10 * kernel.budget:,}"
    return RunIsOver(f"its {kernel.budget:,} steps are used up; --budget {more} lets it go on")


def _call(process: Process) -> None:
    try:
        finish_call(process)
    except ProcessEnds as ends:
        if ends.status is None or not process.current.vfork_child:
            raise
        process.current.status = ends.status  # exit_group of a child whose parent waits for it
    if process.current.status is not None:
        end_thread(process)


def _leave_kernel(kernel: Kernel) -> None:
    """Before a thread goes on: whose turn it is, and the signals that have come for it.

    A handler may begin on top of another one's first instruction; the last one delivered runs first.
    """
    while kernel.living:
        try:
            choose(kernel)
            while not kernel.current.stopped and deliver(kernel.current):
                pass
            if not kernel.current.stopped:
                return
        except ProcessEnds as ends:
            end_process(kernel.current, ends)


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
