"""Whether a path on which branches were forced, or callees answered, can be one that a run takes.

Two branches may depend on each other: a frame made on one side of the first is taken down on one side of the second. A
path that mixes the sides shows it: SP leaves the stack, a return leads to where no code is, or the function comes back
with another SP or with callee-saved registers lost. Where a callee never returns, what lies behind its call is perhaps
another function: such a path is good until that call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.machine.start import STACK_SIZE
from testbed.micro.call_code import STUB
from testbed.micro.calling import CallTape, Over
from testbed.micro.code import PieceCode
from testbed.micro.layout import CallableImage
from testbed.trace import Writes

_ABOVE = 0x800  # bytes above SP at the call that SP may reach: a callee that takes its arguments off
FALLS_OFF = "control falls off the function's end"
SP_OUTSIDE = "SP leaves the stack"


def feasible_part(tape: CallTape, image: CallableImage, ends: Sequence[int], code: PieceCode) -> CallTape | str:
    """The tape, or what of it a run can take; why none does, in words. ``ends``: of the function and its parts."""
    arch = image.loaded.image.arch
    pc = tape.registers[:, arch.index[arch.pc]]
    answer = image.harness.image.entry + image.calls.answer
    behind = (step for step, to in tape.skipped if to - image.loaded.bias in ends[1:] and int(pc[step]) == answer)
    if (step := next(behind, None)) is not None:  # back from a part's last instruction, likewise
        tape = until(tape, step - 1)
        pc = tape.registers[:, arch.index[arch.pc]]
    if _goes_wrong(tape, image, code):
        return str(tape.over.value)
    if _first_outside(tape, image) is not None:
        return SP_OUTSIDE
    for step, callee in tape.skipped:
        if callee - image.loaded.bias not in ends:
            continue
        if int(pc[step]) == answer:  # back from the function's last instruction, a call of what never returns
            return until(tape, step - 1)
        if int(pc[step]) + int(tape.sizes[step]) == callee:
            return FALLS_OFF
    return tape


def _goes_wrong(tape: CallTape, image: CallableImage, code: PieceCode) -> bool:
    """Does a path end as no run does?"""
    if tape.over is not Over.WILD:
        return tape.over is Over.STRAY
    # A jump by a register goes astray with any made-up number; a return does so on an impossible path only.
    arch = image.loaded.image.arch
    last = int(tape.registers[-2, arch.index[arch.pc]]) - image.loaded.bias if len(tape) > 1 else 0
    return last not in code.indirect


def return_to_answer(tape: CallTape, image: CallableImage, code: PieceCode) -> int | None:
    """The link-time pc of the function's own return by which a path went to what one of its calls was answered with."""
    if tape.over is not Over.WILD or len(tape) < 2 or not _goes_wrong(tape, image, code):
        return None
    arch = image.loaded.image.arch
    last = int(tape.registers[-2, arch.index[arch.pc]]) - image.loaded.bias
    answers = tape.registers[[*_answers(tape, image)], arch.index[image.convention.results[0]]]
    is_one = (answers & np.uint64(arch.code_mask) == np.uint64(arch.code_address(tape.to))).any()
    return last if is_one and last in code.sizes else None


def without_doubtful(tapes: Sequence[CallTape], image: CallableImage, code: PieceCode) -> Iterator[CallTape]:
    """The natural paths of a function; one that ends as no run does goes to the first callee that is perhaps to blame.

    Every import and made-up pointer is answered, and one that never returns has another function's code behind its
    call, or a block with another frame. To blame is none that also came back on a path that ended well.
    """
    came_back = [_answers(tape, image) for tape in tapes]
    wrong = [_goes_wrong(tape, image, code) for tape in tapes]
    good = {stub for back, is_wrong in zip(came_back, wrong, strict=True) if not is_wrong for stub in back.values()}
    for tape, back, is_wrong in zip(tapes, came_back, wrong, strict=True):
        steps = [step for step, stub in back.items() if stub not in good] if is_wrong else []
        yield until(tape, max(min(steps) - 1, 0)) if steps else tape


def _answers(tape: CallTape, image: CallableImage) -> dict[int, int]:
    """The steps right behind the answer to a call, with the address of the import's stub, or of a call by a pointer."""
    steps, callees = behind_answers(tape.registers[:, image.loaded.image.arch.index[image.loaded.image.arch.pc]], image)
    return dict(zip(steps.tolist(), callees.tolist(), strict=True))


def behind_answers(pc: NDArray[np.uint64], image: CallableImage) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The steps right behind the answer to a call that leads where no code is, or behind a stub; what was called."""
    answer = np.flatnonzero(pc[1:-1] == np.uint64(image.harness.image.entry + image.calls.answer)) + 1
    stubs = np.array(sorted(image.stubs.values()), np.uint64)
    if not len(stubs):
        return answer + 1, pc[answer - 1]
    number = np.searchsorted(stubs, pc, side="right") - 1
    inside = (number >= 0) & (pc < stubs[np.maximum(number, 0)] + np.uint64(STUB))
    left = np.flatnonzero(inside[:-1] & ~inside[1:])
    return np.concatenate((answer, left)) + 1, np.concatenate((pc[answer - 1], stubs[number[left]]))


def natural_part(
    tape: CallTape, image: CallableImage, covered: NDArray[np.uint8], low: int, is_behind: Callable[[int], bool]
) -> CallTape:
    """The tape until SP leaves the stack, or control falls off a function: into what no function covers, or by the
    return from its last instruction's call.

    What was loaded into SP is made-up data then, or something that never returns did: there is no frame after it.
    ``covered`` has a byte per byte of code from the run-time address ``low`` on: 1 where a function is. ``is_behind``
    says of the run-time address behind a call that its function has ended there.
    """
    arch = image.loaded.image.arch
    pc = tape.registers[:, arch.index[arch.pc]]
    places = pc - np.uint64(low)
    inside = places < np.uint64(len(covered))
    function = np.zeros(len(pc), np.bool_)
    function[inside] = covered[places[inside].astype(np.int64)] != 0
    falls = (pc[1:] == pc[:-1] + tape.sizes[:-1]) & function[:-1] & inside[1:] & ~function[1:]
    falls_off = (*(np.flatnonzero(falls)[:1] + 1).tolist(), _back_outside(tape, image, is_behind))
    ends = [at for at in (_first_outside(tape, image), *falls_off) if at is not None]
    return until(tape, max(min(ends) - 1, 0)) if ends else tape


def _back_outside(tape: CallTape, image: CallableImage, is_behind: Callable[[int], bool]) -> int | None:
    """The first step at which a call comes back to where its function has ended: so it called what never returns.

    A call hands over the address behind it, in the link register or on the stack, and leaves SP as it is or one word
    lower. It has come back where control is there with SP as it was.
    """
    arch = image.loaded.image.arch
    pc, sp = (tape.registers[:, arch.index[name]] for name in (arch.pc, arch.sp))
    behind = pc[:-1] + tape.sizes[:-1]
    if arch.link:
        handed = tape.registers[1:, arch.index[arch.link]] & np.uint64(arch.code_mask) == behind
    else:
        handed = sp[1:] == sp[:-1] - np.uint64(arch.word)
    found = []
    calls = np.flatnonzero(handed & (pc[1:] != behind))
    for address in np.unique(behind[calls]).tolist():
        if not is_behind(address):
            continue
        for call in calls[behind[calls] == address].tolist():
            back = np.flatnonzero((pc[call + 1 :] == address) & (sp[call + 1 :] == sp[call]))
            found += (back[:1] + call + 1).tolist()
    return min(found, default=None)


def _first_outside(tape: CallTape, image: CallableImage) -> int | None:
    arch = image.loaded.image.arch
    sp = tape.registers[:, arch.index[arch.sp]]
    outside = np.flatnonzero((sp > np.uint64(image.sp + _ABOVE)) | (sp < np.uint64(image.sp - STACK_SIZE // 2)))
    return int(outside[0]) if len(outside) else None


def until(tape: CallTape, step: int) -> CallTape:
    """The tape until a step after which no run goes on as it does, and the harness's row: nobody has come back."""
    rows = np.concatenate((tape.registers[: step + 1], tape.landed))
    sizes = np.concatenate((tape.sizes[: step + 1], tape.sizes[-1:]))
    writes, last = tape.writes, len(tape) - 1
    kept = (writes.step <= step) | (writes.step == last)
    steps = np.where(writes.step == last, np.uint32(step + 1), writes.step)[kept]
    journal = Writes(steps.astype(np.uint32), writes.address[kept], writes.size[kept], writes.value[kept])
    skipped = tuple(pair for pair in tape.skipped if pair[0] < step)
    return replace(tape, registers=rows, sizes=sizes, writes=journal, over=Over.NEVER_RETURNS, skipped=skipped)
