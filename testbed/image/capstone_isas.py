"""Each instruction set in capstone: what a disassembler is opened with."""

from __future__ import annotations

from functools import cache

import capstone as cs

from testbed.arch import PerIsa

# CS_ARCH_* and CS_MODE_*.
CAPSTONE = PerIsa(
    {
        "x86_64": (cs.CS_ARCH_X86, cs.CS_MODE_64),
        "arm64": (cs.CS_ARCH_ARM64, cs.CS_MODE_ARM),
        "a32": (cs.CS_ARCH_ARM, cs.CS_MODE_ARM),
        "thumb": (cs.CS_ARCH_ARM, cs.CS_MODE_THUMB),
    }
)


@cache
def disassembler(isa: str, *, detail: bool = False) -> cs.Cs:
    """The disassembler of an instruction set; with ``detail`` it also says operands, groups and registers."""
    made = cs.Cs(*CAPSTONE[isa])
    made.detail = detail
    return made
