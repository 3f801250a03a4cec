"""Instructions as text, for people: reports and error messages. No judgement rests on it."""

from __future__ import annotations

from functools import cache

import capstone as cs

from testbed.arch import Isa, PerIsa

# Each instruction set in capstone: what a disassembler is opened with.

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


def disassemble(isa: Isa, code: bytes, address: int) -> str:
    """The first instruction of ``code`` at ``address``, or ``.byte ...`` where capstone knows none."""
    return disassemble_sized(isa, code, address)[0]


def disassemble_sized(isa: Isa, code: bytes, address: int) -> tuple[str, int]:
    """The first instruction of ``code`` as text, and how many bytes it takes; ``.byte ...`` is up to four."""
    for _, size, mnemonic, operands in disassembler(isa.name).disasm_lite(code, address, 1):
        return f"{mnemonic} {operands}".rstrip(), size
    return ".byte " + ", ".join(f"{byte:#04x}" for byte in code[:4]), min(len(code), 4)
