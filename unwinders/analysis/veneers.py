"""Instructions that a linker has moved out of a function: a branch leads there, and another one back behind it.

Linkers do so where instructions in a row would meet an erratum of a processor (Cortex-A53 843419, Cortex-A8 657417):
``ld --fix-cortex-a53-843419`` puts ``b`` in the place of a load, and elsewhere the load and ``b`` back.
"""

from __future__ import annotations

from testbed.words.errors import NoUnwindInfo
from unwinders.analysis.abstract_machine import emulate
from unwinders.analysis.abstract_state import AbstractState
from unwinders.analysis.function_bounds import FunctionParts, functions_of
from unwinders.analysis.function_code import LONGEST, FunctionCode
from unwinders.analysis.operations import Instruction, Jump

MOVED = 2  # instructions at most, before the branch back


def come_back(
    code: FunctionCode, jump: Instruction, target: int, state: AbstractState
) -> tuple[int, AbstractState] | None:
    """Where in the function a jump out of it comes back, and the state there; None where it is a tail call.

    It comes back behind the jump, after a few instructions that go nowhere else, in code that no symbol covers.
    """
    try:
        functions_of(code.image).at(target)
        return None
    except NoUnwindInfo:
        pass
    moved = FunctionCode(code.image, FunctionParts("", ((target, target + (MOVED + 1) * LONGEST),)))
    pc = target
    for _ in range(MOVED + 1):
        instruction = moved.at(pc)
        if instruction is None or instruction.condition is not None:
            return None
        if instruction.control is not None:
            back = instruction.control == Jump((jump.end,)) and pc != target
            return (jump.end, state) if back else None
        state, pc = emulate(code.image.arch, state, instruction, code.read), instruction.end
    return None
