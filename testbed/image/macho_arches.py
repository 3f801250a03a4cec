"""Each architecture in the headers of Mach-O files. Source: Mach-O, mach/machine.h and mach/thread_status.h."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.arch import ARCHES, Arch, PerArch


@dataclass(frozen=True, slots=True)
class MachOArch:
    """``cpu`` is the cpu type in the header; ``thread_flavor`` the layout of the registers in LC_UNIXTHREAD, and
    ``thread_pc`` the place of pc in it, in words."""

    cpu: int
    thread_flavor: int
    thread_pc: int


MACH_O = PerArch[MachOArch | None](
    {
        "x86_64": MachOArch(cpu=0x0100_0007, thread_flavor=4, thread_pc=16),
        "arm64": MachOArch(cpu=0x0100_000C, thread_flavor=6, thread_pc=32),
        "arm32": None,
    },
    because={"arm32": "there are no 64-bit Mach-O files of it"},
)


def arch_of_cpu(cpu: int) -> Arch | None:
    """The architecture of a cpu type; None where it is none of ours."""
    return next((ARCHES[name] for name, known in MACH_O.items() if known and known.cpu == cpu), None)
