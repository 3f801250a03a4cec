"""What one step can take over from the step before: the same frames further out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as u64
from numpy.typing import NDArray

from testbed.contract.native import SPECIFICATION
from testbed.native.compiled import compiled
from unwinders.rows.native.row import knows


class SweptNodes(NamedTuple):
    """Columns of `testbed.contract.unwinder.CallerClaims`, then what only the sweep needs.

    ``low`` is the chain's lowest read address, ``mode`` the register that its guards compare, ``complete`` whether a
    frame further out knows SP and all frame pointers, ``site`` the last site that leads to the node.
    """

    pc: NDArray[np.uint64]
    known: NDArray[np.uint64]
    values: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    found_by: NDArray[np.int32]
    low: NDArray[np.uint64]
    mode: NDArray[np.int8]
    complete: NDArray[np.bool_]
    site: NDArray[np.int32]


@compiled(inline=True)
def known_already(cursor: Any, found: Any, found_by: Any, out: Any, pointers: Any, nodes: Any) -> Any:
    """The node of the last step's chain that is this frame, or -1; and where to look for the next one further out.

    The frame is ``found`` and has the registers ``out``. Its SP, or a frame pointer, says where in the chain it may be.
    """
    known, values, outer = nodes.known, nodes.values, nodes.outer
    order = -1
    for j in range(pointers):
        if knows(found.recovered, j):
            order = j
            break
    node = cursor
    while node >= 0:
        if nodes.pc[node] == found.pc and known[node] == found.recovered and nodes.found_by[node] == found_by:
            equal = True
            for i in range(len(out)):
                if values[node, i] != out[i]:
                    equal = False
                    break
            if equal:
                return node, node
        if order >= 0 and knows(known[node], order):
            if values[node, order] > out[order]:
                return np.int64(-1), cursor  # further out, all are above it
            if values[node, order] < out[order]:
                cursor = np.int64(outer[node])  # all that follow are above this one
        node = np.int64(outer[node])
    return np.int64(-1), cursor


@compiled(inline=True)
def fill_outer_facts(first: Any, used: Any, pointers: Any, nodes: Any) -> None:
    """Fill in what new nodes know of the chain further out, the outermost first."""
    outer, end, mode, complete = nodes.outer, nodes.end, nodes.mode, nodes.complete
    everything = (u64(1) << u64(pointers)) - u64(1)
    for node in range(used - 1, first - 1, -1):
        further = np.int64(outer[node])
        if further < 0:
            end[node], nodes.depth[node], complete[node] = outer[node], 1, False
            mode[node] = -1
            continue
        nodes.depth[node] = nodes.depth[further] + 1
        nodes.low[node] = min(nodes.low[node], nodes.low[further])
        complete[node] = complete[further] or (nodes.known[further] & everything) == everything
        same_guard = mode[further] < 0 or mode[further] == mode[node]
        end[node] = end[further] if same_guard else SPECIFICATION
