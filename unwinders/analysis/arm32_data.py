"""Data between A32 and T32 instructions: constants that are loaded relative to pc, and tables of a table branch."""

from __future__ import annotations

from typing import Any

from capstone import arm

from testbed.arch import Isa
from unwinders.analysis.abstract_machine import ReadCode
from unwinders.analysis.arm32_accesses import WORD
from unwinders.analysis.arm32_operands import FULL, PC, memory_operand, register_names
from unwinders.analysis.operations import Jump

MOST_CASES = 4096  # of a jump table inside the code


def literal_of(insn: Any, isa: Isa) -> tuple[int, int] | None:
    """What is loaded relative to pc: compilers keep constants between functions, and in the middle of large ones."""
    memory = next((o for o in insn.operands if o.type == arm.ARM_OP_MEM), None)
    at = memory_operand(insn, memory) if memory is not None else None
    if at is None or at.register != PC or insn.writeback:
        return None
    start = (insn.address & ~3) + (isa.pc_reads_ahead or 0) + at.offset
    loaded = register_names(insn, insn.operands[: insn.operands.index(memory)])
    return start, start + sum(8 if name[0] == "d" else WORD for name in loaded)


def table_of_branch(insn: Any, width: int, read_code: ReadCode) -> Jump:
    """The cases of a table branch, in order: halved distances from behind it, up to where the first case begins."""
    base = insn.address + insn.size
    targets: list[int] = []
    end = None
    for i in range(MOST_CASES):
        here = base + i * width
        distance = read_code(here, width) if end is None or here < end else None
        if distance is None or base + 2 * distance < here + width:
            break
        targets.append(base + 2 * distance)
        end = min(targets)
    index = FULL.get(insn.reg_name(insn.operands[0].mem.index) or "", (None,))[0]
    return Jump(tuple(targets), table=(base, base + len(targets) * width) if targets else None, index=index)
