"""Instructions as text, for people: reports and error messages. No judgement rests on it."""

from __future__ import annotations

from testbed.arch import Isa
from testbed.image.capstone_isas import disassembler


def disassemble(isa: Isa, code: bytes, address: int) -> str:
    """The first instruction of ``code`` at ``address``, or ``.byte ...`` where capstone knows none."""
    return disassemble_sized(isa, code, address)[0]


def disassemble_sized(isa: Isa, code: bytes, address: int) -> tuple[str, int]:
    """The first instruction of ``code`` as text, and how many bytes it takes; ``.byte ...`` is up to four."""
    for _, size, mnemonic, operands in disassembler(isa.name).disasm_lite(code, address, 1):
        return f"{mnemonic} {operands}".rstrip(), size
    return ".byte " + ", ".join(f"{byte:#04x}" for byte in code[:4]), min(len(code), 4)
