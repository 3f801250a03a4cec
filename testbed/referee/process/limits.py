"""What a real tool may use: generous beside what it needs, and an end to what runs wild."""

from __future__ import annotations

import resource
from pathlib import Path

from testbed.build.confinement import Confinement

CPU_SECONDS = 4 * 3600  # of a process that serves whole programs; one answer has a time of its own
MEMORY = 16 << 30  # bytes of address space: LLDB alone maps two
FILE_SIZE = 256 << 20


def agents_confinement(folder: Path, ports: tuple[int, ...] = (), *, mapped: int = 0) -> Confinement:
    """It reads everything, as tools look for their parts in many places, and writes into ``folder`` only.

    ``mapped``: bytes of address space that it has already, as a copy of this process that stays one.
    """
    return Confinement(CPU_SECONDS, MEMORY + mapped, FILE_SIZE, None, (folder,), ports)


def mapped_now() -> int:
    """How many bytes of address space this process has (proc(5), statm)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()
