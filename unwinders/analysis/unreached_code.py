"""A function's code from end to end, whether control gets there or not: what no way leads to, and what comes last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from unwinders.analysis.function_code import FunctionCode
from unwinders.analysis.operations import Call, Instruction


def unreached(code: FunctionCode, data: Mapping[int, int], reached: Callable[[int], bool]) -> Iterator[int]:
    """Places that no way leads to so far, in order; asked again after each answer. ``data``: start -> end."""
    for start, end in code.function.parts:
        for instruction in _instructions(code, start, end, data):
            if not instruction.idle and not reached(instruction.address):
                yield instruction.address


def called_last(code: FunctionCode, data: Mapping[int, int]) -> frozenset[int]:
    """The functions whose calls end this one: nothing but data lies behind that they could come back to."""
    found = set[int]()
    for start, end in code.function.parts:
        last = None
        for instruction in _instructions(code, start, end, data):
            last = last if instruction.idle else instruction.control
        if isinstance(last, Call) and last.target is not None:
            found.add(last.target)
    return frozenset(found)


def _instructions(code: FunctionCode, start: int, end: int, data: Mapping[int, int]) -> Iterator[Instruction]:
    pc = start
    while pc < end:
        if pc in data:
            pc = max(data[pc], pc + code.step)
            continue
        instruction = code.at(pc)
        if instruction is not None:
            yield instruction
        pc = instruction.end if instruction is not None else pc + code.step
