"""Calls in machine code, as a stack scanner recognises them: is the instruction before this address a call?

An instruction that ends at the address is tried in every length that a call has on its instruction set. On x86_64
lengths vary, so bytes in the middle of an instruction can look like a call: a scanner's risk, kept as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from capstone import CS_GRP_CALL, CS_OP_IMM

from testbed.arch import Isa
from testbed.image import Image, once_per_image
from testbed.image.disassembly import disassembler

LONGEST = 8  # bytes: call [base + index * 8 + disp32] with a REX prefix


@dataclass(frozen=True, slots=True)
class CallInstruction:
    """A call instruction; ``target`` is the link-time address that it names, None where a register decides."""

    target: int | None


def call_before(image: Image, address: int, isa: Isa | None = None) -> CallInstruction | None:
    """The call that ends at a link-time address, so that it would return there; None where none does.

    ``isa`` is the instruction set that the code is taken to be in; None: the one that the file says.
    """
    isa = image.isa_at(address - 1) if isa is None else isa
    return _find(image, address, isa)


@once_per_image
def _find(image: Image, address: int, isa: Isa) -> CallInstruction | None:
    segment = next((s for s in image.segments if s.executable and s.address < address <= s.address + len(s.data)), None)
    if segment is None:
        return None
    for length in range(2, LONGEST + 1):
        start = address - length
        if start < segment.address:
            break
        code = segment.data[start - segment.address : address - segment.address]
        for instruction in disassembler(isa.name, detail=True).disasm(code, start, 1):
            if instruction.size == length and instruction.group(CS_GRP_CALL):
                operand = instruction.operands[0]
                return CallInstruction(operand.imm if operand.type == CS_OP_IMM else None)
    return None
