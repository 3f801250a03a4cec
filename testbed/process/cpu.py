"""The processor of a process: a model whose features are announced as they are, and instructions that the host does.

Reading a clock would make every run another one. So such an instruction stops the machine, and the process gives it
the time that it gives to system calls, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unicorn import Uc
from unicorn import unicorn_const as const
from unicorn import x86_const as x86

from testbed.arch import Arch, PerArch
from testbed.machine.unicorn_arches import UNICORN


@dataclass(frozen=True, slots=True)
class ClockRead:
    """An instruction that reads a clock: the registers that get its value, in pieces of ``bits``, the lowest first."""

    into: tuple[str, ...]
    bits: int
    zeroed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessCpu:
    """``model`` is Unicorn's number, None its usual one; ``clock_read`` knows such an instruction by its bytes.

    ``virtual``: addresses are virtual ones, since the model's physical memory does not reach up to the stack. Where
    that is set, an access to a page that was not used before leaves the state of a Thumb IT block behind.
    """

    model: int | None
    clock_read: Callable[[bytes], ClockRead | None]
    virtual: bool = False


def _rdtsc(code: bytes) -> ClockRead | None:
    if code == b"\x0f\x31":
        return ClockRead(("rax", "rdx"), 32)
    return ClockRead(("rax", "rdx"), 32, ("rcx",)) if code == b"\x0f\x01\xf9" else None


def _cntvct(code: bytes) -> ClockRead | None:
    """``mrs xN, cntvct_el0``, and the one that orders itself, or the physical counter."""
    word = int.from_bytes(code, "little")
    if len(code) != 4 or word & ~0x1F not in (0xD53B_E040, 0xD53B_E0C0, 0xD53B_E020):
        return None
    return ClockRead((f"x{word & 31}",) if word & 31 != 31 else (), 64)


# Nehalem has no ERMS, by which C libraries would clear memory with `rep stosb`, a step per byte; and no AVX.
CPUS = PerArch(
    {
        "x86_64": ProcessCpu(x86.UC_CPU_X86_NEHALEM, _rdtsc, virtual=True),
        "arm64": ProcessCpu(None, _cntvct),
        "arm32": ProcessCpu(None, lambda code: None),
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
