"""What the processor refuses, as signals: which one, and whether its instruction executed."""

from __future__ import annotations

from dataclasses import dataclass

from unicorn import unicorn_const as const

from testbed.arch import PerArch
from testbed.image import describe
from testbed.image.disassembly import disassemble
from testbed.machine.stops import FETCHES
from testbed.process.kernel_entry import Raised, Refused
from testbed.process.refusal import Refusal
from testbed.process.signals import fault_info, force
from testbed.process.state import SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, Process

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
    """An access that memory does not allow: SIGSEGV. Raises ProcessEnds where nothing handles it."""
    recorder, memory = process.recorder, process.memory
    address = refused.address & process.arch.word_mask
    if refused.kind in FETCHES:  # the jump executed; where it leads, nothing does
        address = process.arch.code_address(address)
        recorder[process.arch.pc] = address
        what = f"jumps to {address:#x}"
    else:
        recorder.drop_faulting(memory)
        what = f"{_VERBS.get(refused.kind, 'touches')} {refused.size} bytes at {address:#x}"
    mapped = memory.area_at(address) is not None
    code = _ACCESS_ERROR if mapped else _MAP_ERROR
    why = f"{what}, which it may not" if mapped else f"{what}, which is not mapped"
    force(process, SIGSEGV, fault_info(process, SIGSEGV, code, address), why)


def take_exception(process: Process, meaning: FaultMeaning) -> None:
    """A processor exception. Raises ProcessEnds where nothing handles its signal."""
    recorder = process.recorder
    pc = recorder.last_pc()
    if not meaning.executed:
        recorder.drop_faulting(process.memory)
        recorder[process.arch.pc] = pc
    info = fault_info(process, meaning.signal, meaning.code, pc)
    what = f"{meaning.why} ({_instruction(process, pc)})" if meaning.signal == SIGILL else meaning.why
    force(process, meaning.signal, info, f"{what} at {describe(tuple(process.images), pc)}")


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


def meaning_of(process: Process, raised: Raised) -> FaultMeaning | None:
    return MEANINGS[process.arch.name].get(raised.number)
