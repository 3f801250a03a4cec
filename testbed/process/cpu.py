"""The processor of a process: a model whose features are announced as they are.

Reading a clock would make every run another one (`testbed.machine.clock_reads`). So such an instruction stops the
machine, and the process gives it the time that it gives to system calls, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from unicorn import Uc
from unicorn import unicorn_const as const
from unicorn import x86_const as x86

from testbed.arch import Arch, PerArch
from testbed.machine.unicorn_arches import UNICORN


@dataclass(frozen=True, slots=True)
class ProcessCpu:
    """``model`` is Unicorn's number, None its usual one.

    ``virtual``: addresses are virtual ones, since the model's physical memory does not reach up to the stack. Where
    that is set, an access to a page that was not used before leaves the state of a Thumb IT block behind.
    """

    model: int | None
    virtual: bool = False


# Nehalem has no ERMS, by which C libraries would clear memory with `rep stosb`, a step per byte; and no AVX.
CPUS = PerArch(
    {
        "x86_64": ProcessCpu(x86.UC_CPU_X86_NEHALEM, virtual=True),
        "arm64": ProcessCpu(None),
        "arm32": ProcessCpu(None),
    }
)


def powered_for_linux(arch: Arch) -> Uc:
    """An emulator with the processor as Linux leaves it to programs."""
    settings, cpu = UNICORN[arch.name], CPUS[arch.name]
    uc = Uc(*settings.opened) if cpu.model is None else Uc(*settings.opened, cpu.model)
    if cpu.virtual:
        uc.ctl_set_tlb_mode(const.UC_TLB_VIRTUAL)
    for register, keep, bits in settings.setup:
        uc.reg_write(register, (uc.reg_read(register) & keep) | bits)
    return uc
