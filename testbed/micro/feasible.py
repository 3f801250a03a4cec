"""Whether a path on which branches were forced, or callees answered, can be one that a run takes.

Two branches may depend on each other: a frame made on one side of the first is taken down on one side of the second. A
path that mixes the sides shows it: SP leaves the stack, a return leads to where no code is, or the function comes back
with another SP or with callee-saved registers lost. Where a callee never returns, what lies behind its call is perhaps
another function: such a path is good until that call.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.machine.load import STACK_SIZE
from testbed.micro.calling import CallTape, Over
from testbed.micro.code import PieceCode
from testbed.micro.functions import CodePiece
from testbed.micro.layout import CallableImage
from testbed.trace import Writes

_ABOVE = 0x800  # bytes above SP at the call that SP may reach: a callee that takes its arguments off
FALLS_OFF = "control falls off the function's end"
SP_OUTSIDE = "SP leaves the stack"


def feasible_part(tape: CallTape, image: CallableImage, piece: CodePiece, code: PieceCode) -> CallTape | str:
    """The tape, or what of it a run can take; why none does, in words."""
    arch = image.loaded.image.arch
    if tape.over is Over.STRAY:
        return str(tape.over.value)
    if tape.over is Over.WILD:
        # A jump by a register goes astray with any made-up number; a return does so on an impossible path only.
        last = int(tape.registers[-2, arch.index[arch.pc]]) - image.loaded.bias if len(tape) > 1 else 0
        if last not in code.indirect:
            return str(tape.over.value)
    if _first_outside(tape, image) is not None:
        return SP_OUTSIDE
    pc = tape.registers[:, arch.index[arch.pc]]
    answer = image.harness.image.entry + image.convention.answer
    for step, callee in tape.skipped:
        if callee != piece.end + image.loaded.bias:
            continue
        if int(pc[step]) == answer:  # back from the function's last instruction, a call of what never returns
            return _until(tape, step - 1)
        if int(pc[step]) + int(tape.sizes[step]) == callee:
            return FALLS_OFF
    return tape


def natural_part(tape: CallTape, image: CallableImage, covered: NDArray[np.uint8], low: int) -> CallTape:
    """The tape until SP leaves the stack, or control falls off a function into what no function covers.

    What was loaded into SP is made-up data then, or something that never returns did: there is no frame after it.
    ``covered`` has a byte per byte of code from the run-time address ``low`` on: 1 where a function is.
    """
    arch = image.loaded.image.arch
    pc = tape.registers[:, arch.index[arch.pc]]
    places = pc - np.uint64(low)
    inside = places < np.uint64(len(covered))
    function = np.zeros(len(pc), np.bool_)
    function[inside] = covered[places[inside].astype(np.int64)] != 0
    falls = (pc[1:] == pc[:-1] + tape.sizes[:-1]) & function[:-1] & inside[1:] & ~function[1:]
    ends = [at for at in (_first_outside(tape, image), *(np.flatnonzero(falls)[:1] + 1).tolist()) if at is not None]
    return _until(tape, max(min(ends) - 1, 0)) if ends else tape


def _first_outside(tape: CallTape, image: CallableImage) -> int | None:
    arch = image.loaded.image.arch
    sp = tape.registers[:, arch.index[arch.sp]]
    outside = np.flatnonzero((sp > np.uint64(image.sp + _ABOVE)) | (sp < np.uint64(image.sp - STACK_SIZE // 2)))
    return int(outside[0]) if len(outside) else None


def _until(tape: CallTape, step: int) -> CallTape:
    """The tape until a step after which no run goes on as it does, and the harness's row."""
    rows = np.concatenate((tape.registers[: step + 1], tape.registers[-1:]))
    sizes = np.concatenate((tape.sizes[: step + 1], tape.sizes[-1:]))
    writes, last = tape.writes, len(tape) - 1
    kept = (writes.step <= step) | (writes.step == last)
    steps = np.where(writes.step == last, np.uint32(step + 1), writes.step)[kept]
    journal = Writes(steps.astype(np.uint32), writes.address[kept], writes.size[kept], writes.value[kept])
    skipped = tuple(pair for pair in tape.skipped if pair[0] < step)
    return replace(tape, registers=rows, sizes=sizes, writes=journal, over=Over.NEVER_RETURNS, skipped=skipped)
