"""Instructions of Thumb's IT blocks whose condition was false, as steps of a path.

A processor fetches such an instruction and does nothing, as with any conditional instruction of A32; a signal may
arrive there, and its row is as good or bad as another. The emulator has no hook for them, so they are no steps: control
seems to go from an instruction of the block to a later one, or to what stands right behind it. Only a block's last
instruction may branch (Arm ARM, IT), so there is nothing else that this can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.micro.calling import CallTape
from testbed.micro.code import PieceCode
from testbed.trace import Writes

_LONGEST = 16  # bytes: a block has four instructions of at most four


def with_passed_over(
    tape: CallTape, pc: int, bias: int, code_at: Callable[[int], PieceCode | None]
) -> tuple[CallTape, NDArray[np.int64]]:
    """The tape with a step for each instruction that was passed over, and the new place of each step.

    ``pc`` is the program counter's column, ``code_at`` gives the code of the piece at a link-time address. A step that
    is put in has the registers of the one that comes after it, and writes nothing.
    """
    here, sizes = tape.registers[:, pc], tape.sizes.astype(np.uint64)
    gaps = here[1:] - (here[:-1] + sizes[:-1])
    passed: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
    before: list[int] = []
    new: list[tuple[int, int]] = []
    for step in np.flatnonzero((gaps > 0) & (gaps <= _LONGEST)).tolist():
        pair = int(here[step]) - bias, int(here[step + 1]) - bias
        if pair not in passed:
            passed[pair] = _between(code_at(pair[0]), *pair)
        before += [step + 1] * len(passed[pair])
        new += passed[pair]
    places = np.arange(len(tape), dtype=np.int64)
    if not new:
        return tape, places
    at = np.array(before, np.int64)
    rows = tape.registers[at]
    rows[:, pc] = np.array([address for address, _ in new], np.uint64) + np.uint64(bias)
    places += np.searchsorted(at, places, side="right")
    writes = tape.writes
    return (
        replace(
            tape,
            registers=np.insert(tape.registers, at, rows, axis=0),
            sizes=np.insert(tape.sizes, at, np.array([size for _, size in new], np.uint8)),
            writes=Writes(places[writes.step].astype(np.uint32), writes.address, writes.size, writes.value),
            skipped=tuple((int(places[step]), callee) for step, callee in tape.skipped),
        ),
        places,
    )


def _between(code: PieceCode | None, start: int, goes_on: int) -> tuple[tuple[int, int], ...]:
    """The instructions of one IT block between two places, with their sizes."""
    end = code.blocks.get(start, start) if code is not None else start
    if code is None or not start < goes_on <= end:
        return ()
    found, at = [], start + code.sizes[start]
    while at < goes_on and at in code.sizes:
        found.append((at, code.sizes[at]))
        at += code.sizes[at]
    return tuple(found) if at == goes_on else ()
