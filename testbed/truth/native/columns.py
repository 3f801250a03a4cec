"""The columns in which the native pass of `testbed.truth.native.walk` holds activations, and what it walks over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Columns of `links`: activation -> parent, bottom of its stack, region of its stack, rows of `left`: who was thought to
# land in it last, and the landing that ended it.
PARENT, BOTTOM, REGION, LAST_LEFT, LANDED = range(5)
# Columns of `addresses`: return address, entry SP, CFA, the pc of the call, where it goes on if not at the return
# address (0), and the pc of the jump that went there; its first pc; if it returned by what may have been a jump, the pc
# of that and, in this piece, the row behind it (0).
RETURN, ENTRY, CFA, SITE, GOES_ON, GOES_FROM, TARGET, ENDED_SITE, ENDED_ROW = range(9)
ADDRESSES = 9
# Columns of `marks`: is it alive, did it come back, was it thrown away by its parent's return, did its call push an
# address and go elsewhere, did it jump as if it came back elsewhere, is that jump alone enough, did it so before it was
# thrown away, did it go up with its return address, does its call site's callee come back elsewhere, did control come
# to its return address after it had gone elsewhere, did a promise open it, did its caller, to which it had returned,
# call from the same place once more, did it return itself.
ALIVE, RETURNED, THROWN, PUSHED, JUMPED, CERTAIN, LED, ASTRAY, ELSEWHERE, NOT_OVER, PROMISED = range(11)
CALLED_AGAIN, CAME_BACK = 11, 12
MARKS = 13
# Columns of `left`: the jump after which an activation was thought gone, where that one would return to, its CFA, the
# registers that held an address near there, whether the landing was shown to be none, or a switch of stacks.
JUMP_SITE, JUMP_PC, LEFT_RETURN, LEFT_CFA, LEFT_HELD, LEFT_SHOWN, LEFT_SWITCHED = range(7)
LEFT_COLUMNS = 7
# Places of `way`, the jump to another stack, or up, behind which nothing was called or over yet: is there one, its pc,
# where it went, SP there; then what each register held that a jump may take its address from.
WAY_THERE, WAY_SITE, WAY_PC, WAY_SP, WAY_HELD = range(5)


class Tree(NamedTuple):
    """Activations in columns, with room for more. ``latest[place]`` is the last one to come back there, or -1.

    ``left_used[0]`` is how many rows of ``left`` there are; ``way`` is the one jump described above. ``arrived[e]``:
    control came off the stack at event ``e``, and that belongs to no call.
    """

    links: NDArray[np.int64]
    addresses: NDArray[np.uint64]
    opened: NDArray[np.int64]
    marks: NDArray[np.bool_]
    latest: NDArray[np.int64]
    left: NDArray[np.uint64]
    left_used: NDArray[np.int64]
    way: NDArray[np.uint64]
    arrived: NDArray[np.bool_]


class Log(NamedTuple):
    """What a walk notes: where the innermost activation changes and to which, and jumps with the activation left."""

    change_steps: NDArray[np.int64]
    change_nodes: NDArray[np.int32]
    jump_steps: NDArray[np.int64]
    jump_nodes: NDArray[np.int32]


class Setting(NamedTuple):
    """The mapped regions, in order; whether a call pushes, and how far its SP then lies below the CFA; the registers
    at each row, those that a jump may take its address from, the link register or -1, and the bits of an address; the
    size of an instruction that computes pc, or 0."""

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    pushes: bool
    entry_cfa: np.uint64
    registers: NDArray[np.uint64]
    columns: NDArray[np.int64]
    link: int
    mask: np.uint64
    jump_size: np.uint64
