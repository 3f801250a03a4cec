"""By hand: did control go where a register said, or a word that came off the stack?

Seen from the registers before the jump and after it; no instruction is decoded. A jump that raises SP has taken its
address off the stack: nothing else does both at once. A direct jump changes no SP, and no register holds its target,
unless by chance. Where instructions compute pc (``add pc, lr, #4``), no register need hold the target of a return: see
`testbed.truth.evidence.leads_back`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.arch.tables import PerArch
from testbed.trace import Trace
from testbed.truth.transfers import Event

NO_LINK = -1

# Can one instruction add to a register and jump there? In A32, where pc is a general register, as a word.
COMPUTES_PC = PerArch({"x86_64": False, "arm64": False, "arm32": True})


def address_columns(arch: Arch) -> NDArray[np.int64]:
    """The columns of a trace's registers that a jump could take its address from."""
    others = {arch.pc, arch.sp, arch.flags}
    return np.array([arch.index[r.name] for r in arch.registers if r.name not in others], np.int64)


def link_column(arch: Arch) -> int:
    """The link register's column, or NO_LINK."""
    return arch.index[arch.link] if arch.link else NO_LINK


class Hands:
    """What was in the registers of a trace before its jumps, as the code addresses that they name."""

    def __init__(self, trace: Trace) -> None:
        self._registers = trace.registers
        self._columns = address_columns(trace.arch)
        self._link = link_column(trace.arch)
        self._mask = np.uint64(trace.arch.code_mask & ~trace.arch.signature)
        self._jump_size = trace.arch.word if COMPUTES_PC[trace.arch.name] else None

    def link(self, event: Event) -> int:
        """The address in the link register, or NO_LINK."""
        return NO_LINK if self._link == NO_LINK else int(self._registers[event.step - 1, self._link] & self._mask)

    def may_compute(self, event: Event) -> bool:
        """May the jump have computed its target?"""
        return event.fall - event.site == self._jump_size

    def held(self, event: Event) -> int:
        """The registers, as a set of bits, that held the address to which the jump went."""
        return self.between(event, event.pc, event.pc)

    def between(self, event: Event, low: int, high: int) -> int:
        """The registers, as a set of bits, that held an address from ``low`` to ``high`` before the jump."""
        values = self._registers[event.step - 1, self._columns] & self._mask
        return sum(1 << int(i) for i in np.flatnonzero((low <= values) & (values <= high)))


def popped(event: Event) -> bool:
    """Did the address come off the stack with the jump?"""
    return event.sp > event.before


def restorer(trace: Trace, event: Event) -> int:
    """Where a handler that the kernel has just entered comes back to."""
    arch, step = trace.arch, event.step
    if arch.link is None:
        return trace.memory(step).unsigned(event.sp, arch.word)
    return arch.code_address(int(trace.column(arch.link)[step]))
