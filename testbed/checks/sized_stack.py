"""Steps at which SP is as far below the CFA as an argument says: in this call, and in another one perhaps elsewhere.

A local array of variable size, `alloca` and an alignment beyond the ABI's move SP by what is no constant of the code.
A row that counts from SP behind that is right in the calls that were made, and that proves nothing: it counts for
nothing here, unless it is wrong in one of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.checks.row_checks import RowChecks
from testbed.contract.rows import RegisterPlus, RowTable, UnwindRow
from testbed.image import LoadedImage
from testbed.micro.stack_moves import MoveKind, StackMove, register_use, stack_move_at
from testbed.truth import Truth
from testbed.truth.transfers import Bools

_FAR = 64  # instructions before a move among which a constant is made
_Pcs = NDArray[np.uint64]


def sized_steps(watched: Truth, loaded: LoadedImage, pc: _Pcs) -> Bools:
    """The steps of activations behind a move of SP by what is no constant, until SP is back in their fixed frame.

    ``pc`` are link-time addresses.
    """
    trace, node, image = watched.trace, watched.node, loaded.image
    found = np.zeros(len(trace), np.bool_)
    pcs, of_step = np.unique(pc, return_inverse=True)
    moves = [stack_move_at(image, at) if image.covers(at) else None for at in pcs.tolist()]
    places = np.flatnonzero(np.array([move is not None for move in moves], np.bool_)[of_step])
    places = places[places < len(trace) - 1]
    if not len(places):
        return found
    said = {int(step): move for step in places.tolist() if (move := moves[int(of_step[step])]) is not None}
    starts = [step for step, move in said.items() if _may_begin(watched, loaded, step, move)]
    for activation in np.unique(node[starts]).tolist() if starts else ():
        own = np.flatnonzero(node == activation)
        _mark(watched, own, {step: said[step] for step in own.tolist() if step in said}, frozenset(starts), found)
    return found


def _may_begin(watched: Truth, loaded: LoadedImage, step: int, move: StackMove) -> bool:
    """Whether SP may be where no constant says behind this step; a copy that only gives memory back is none."""
    sp = watched.trace.sp
    if move.kind is MoveKind.COPY:
        scratch = any(name not in watched.trace.arch.preserved for name in move.registers)
        return bool(sp[step + 1] < sp[step] or (sp[step + 1] == sp[step] and scratch))
    if move.kind is MoveKind.ALIGNED:
        return True
    return not all(_is_constant(watched, loaded, step, name) for name in move.registers)


def _is_constant(watched: Truth, loaded: LoadedImage, step: int, name: str | None) -> bool:
    """Whether the code itself has made the register's value of constants, right before a step of this activation."""
    trace, node = watched.trace, watched.node
    wanted = {name}
    for before in range(step - 1, max(step - 1 - _FAR, -1), -1):
        if node[before] != node[step]:
            return False
        use = register_use(loaded.image, int(trace.pc[before]) - loaded.bias)
        if use is None:
            return False
        if made := wanted & use.writes:
            if use.loads:
                return False
            wanted = (wanted - made) | use.reads
        if not wanted:
            return True
    return False


def _mark(
    watched: Truth, own: NDArray[np.int64], moves: dict[int, StackMove], starts: frozenset[int], found: Bools
) -> None:
    """Mark the steps of one activation, which are ``own``."""
    trace, cfa = watched.trace, int(watched.activations.cfa[watched.node[own[0]]])
    lowest, sized, at = cfa, False, 0
    places = np.searchsorted(own, sorted(moves)).tolist()
    for place, end in zip(places, [*places[1:], len(own) - 1], strict=True):
        if not sized:
            lowest = min(lowest, int(trace.sp[own[at : place + 1]].min()))
        step, at = int(own[place]), place + 1
        move, after = moves[step], int(trace.sp[step + 1])
        if move.kind is MoveKind.COPY:
            bases = [int(trace.column(name)[step]) for name in move.registers if name in trace.arch.index]
            fixed = all(lowest <= base <= cfa for base in (*bases, *(() if bases else (after,))))
            sized = not fixed or (step in starts and after == int(trace.sp[step]) and not sized)
        elif step in starts:
            sized = after <= int(trace.sp[step]) or not lowest <= after <= cfa
        if sized:
            found[own[at : end + 1]] = True


def unproven_steps(
    watched: Truth, checks: RowChecks, table: RowTable, sized: Bools, *, at_calls: bool = False
) -> NDArray[np.int64]:
    """The steps with a right row that counts from SP where SP is ``sized``. ``at_calls``: as `check_rows` takes it."""
    steps = np.flatnonzero(sized & checks.compared & (checks.wrong == 0))
    looked_up = checks.pc[steps] + (
        np.maximum(watched.trace.sizes[steps], 1) - np.uint64(1) if at_calls else np.uint64(0)
    )
    pcs, of_step = np.unique(looked_up, return_inverse=True)
    rows = [table.at(pc) for pc in pcs.tolist()]
    from_sp = [row is not None and _counts_from(row, watched.trace.arch.sp) for row in rows]
    return steps[np.array(from_sp, np.bool_)[of_step]]


def _counts_from(row: UnwindRow, register: str) -> bool:
    return isinstance(row.cfa, RegisterPlus) and row.cfa.register == register


def without_unproven(checks: RowChecks, steps: NDArray[np.int64]) -> RowChecks:
    """The checks without those of some steps."""
    if not len(steps):
        return checks
    compared = checks.compared.copy()
    compared[steps] = False
    return replace(checks, compared=compared)
