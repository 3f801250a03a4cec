"""What one step can take over from the step before: the same frames further out, or the same answer altogether."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64 as u64

from testbed.contract.native import SPECIFICATION
from testbed.native.compiled import compiled
from unwinders.rows.native.codes import FIRST_RUN, RUNS


@compiled(inline=True)
def known_already(cursor: Any, target: Any, recovered: Any, found_by: Any, out: Any, pointers: Any, nodes: Any) -> Any:
    """The node of the last step's chain that is this frame, or -1; and where to look for the next one further out."""
    pc, known, values, outer, origin = nodes[0], nodes[1], nodes[2], nodes[5], nodes[8]
    order = -1
    for j in range(pointers):
        if (recovered >> u64(j)) & u64(1):
            order = j
            break
    node = cursor
    while node >= 0:
        if pc[node] == target and known[node] == recovered and origin[node] == found_by:
            equal = True
            for i in range(len(out)):
                if values[node, i] != out[i]:
                    equal = False
                    break
            if equal:
                return node, node
        if order >= 0 and (known[node] >> u64(order)) & u64(1):
            if values[node, order] > out[order]:
                return np.int64(-1), cursor  # further out, all are above it
            if values[node, order] < out[order]:
                cursor = np.int64(outer[node])  # all that follow are above this one
        node = np.int64(outer[node])
    return np.int64(-1), cursor


@compiled(inline=True)
def finish(first: Any, used: Any, pointers: Any, nodes: Any) -> None:
    """Fill in what new nodes know of the chain further out, the outermost first."""
    known, outer, end, depth, low, mode, complete = (
        nodes[1],
        nodes[5],
        nodes[6],
        nodes[7],
        nodes[9],
        nodes[10],
        nodes[11],
    )
    everything = (u64(1) << u64(pointers)) - u64(1)
    for node in range(used - 1, first - 1, -1):
        further = np.int64(outer[node])
        if further < 0:
            end[node], depth[node], complete[node] = outer[node], 1, False
            mode[node] = -1
            continue
        depth[node] = depth[further] + 1
        low[node] = min(low[node], low[further])
        complete[node] = complete[further] or (known[further] & everything) == everything
        same_guard = mode[further] < 0 or mode[further] == mode[node]
        end[node] = end[further] if same_guard else SPECIFICATION


@compiled(inline=True)
def unchanged(step: Any, registers: Any, row: Any, rows: Any) -> Any:
    """True where the registers that a row uses are those of the step before."""
    runs, facts = rows[7], rows[8]
    first = facts[row, FIRST_RUN]
    for r in range(first, first + facts[row, RUNS]):
        difference = u64(0)
        for c in range(runs[r, 0], runs[r, 1]):
            difference |= registers[step, c] ^ registers[step - 1, c]
        if difference != u64(0):
            return False
    return True
