"""The rules of `testbed.judge` over columns: one outcome per step, one comparison per claim that is new.

A claim about the interrupted frame (a site of `testbed.contract.backtraces`) is compared once per activation, not per
step; and a chain of callers that was found right is not compared again when another one joins it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64 as u64

from testbed.contract.native import ROOT, SPECIFICATION
from testbed.native.compiled import compiled

# Places in `testbed.verdicts.trace.OUTCOMES`. UNJUDGED: the backtrace has to be made first.
EXACT, REFUSED, STOPPED, ENDED_EARLY, SKIPPED, PHANTOM, WRONG_REGISTER, WRONG = range(8)
UNJUDGED = 255


@compiled(inline=True)
def _lies(
    node: Any, index: Any, is_last: Any, nodes: Any, truth: Any, judged: Any, columns: Any, registers: Any
) -> Any:
    """True where a caller's CFA or a register is not what activation ``index`` comes back to.

    The last frame that a backtrace may have has no CFA if more were found: nothing was computed from it.
    """
    known, values = nodes[1][node], nodes[2]
    parents, _, cfas, opened = truth
    parent = parents[index]
    cut = is_last and nodes[5][node] >= 0
    if not cut and nodes[4][node] and parents[parent] >= 0 and nodes[3][node] != cfas[parent]:
        return True
    known &= judged
    for i in range(len(columns)):
        if (known >> u64(i)) & u64(1):
            true = cfas[index] if i == 0 else registers[opened[index], columns[i]]
            if values[node, i] != true:
                return True
    return False


@compiled(inline=True)
def _is_within(node: Any, left: Any, index: Any, nodes: Any, truth: Any) -> Any:
    """True where the claimed pcs from ``node`` on, ``left`` of them, are among the true ones in this order."""
    pcs, outers, parents, returns = nodes[0], nodes[5], truth[0], truth[1]
    while node >= 0 and left > 0:
        while parents[index] >= 0 and returns[index] != pcs[node]:
            index = parents[index]
        if parents[index] < 0:
            return False
        index = parents[index]
        node = outers[node]
        left -= 1
    return True


@compiled(inline=True)
def _holds(node: Any, left: Any, index: Any, nodes: Any, truth: Any) -> Any:
    """True where the true pcs from ``index`` on are among the claimed ones in this order."""
    pcs, outers, parents, returns = nodes[0], nodes[5], truth[0], truth[1]
    while parents[index] >= 0:
        while node >= 0 and left > 0 and pcs[node] != returns[index]:
            node = outers[node]
            left -= 1
        if node < 0 or left <= 0:
            return False
        node = outers[node]
        left -= 1
        index = parents[index]
    return True


@compiled()
def _judge(
    outer: Any,
    lie: Any,
    innermost: Any,
    most: Any,
    nodes: Any,
    right: Any,
    truth: Any,
    judged: Any,
    columns: Any,
    registers: Any,
) -> Any:
    """The outcome of a chain of callers against those of an activation. ``lie``: the interrupted frame's CFA is wrong.

    ``right[node]`` is the activation against which the chain from a node on was found exact, or -1.
    """
    parents, returns = truth[0], truth[1]
    node, index, agreed = outer, innermost, 1
    kind = -1
    while node >= 0 and agreed < most and parents[index] >= 0:
        if right[node] == index and agreed + nodes[7][node] <= most:
            kind = EXACT
            break
        if nodes[0][node] != returns[index]:
            break
        if not lie and _lies(node, index, agreed + 1 >= most, nodes, truth, judged, columns, registers):
            lie = True
        agreed += 1
        node, index = nodes[5][node], parents[index]
    if kind == EXACT:
        pass
    elif node == ROOT:
        kind = EXACT if parents[index] < 0 else ENDED_EARLY
    elif node < 0 or agreed >= most:
        kind = REFUSED if agreed == 1 and parents[innermost] >= 0 else STOPPED
    elif _is_within(node, most - agreed, index, nodes, truth):
        kind = SKIPPED
    elif _holds(node, most - agreed, index, nodes, truth):
        kind = PHANTOM
    else:
        kind = WRONG
    if kind == EXACT and not lie:
        node, index = outer, innermost
        while node >= 0 and right[node] != index:
            right[node] = index
            node, index = nodes[5][node], parents[index]
    return WRONG_REGISTER if lie and kind in (EXACT, REFUSED, STOPPED) else kind


@compiled()
def depths(parents: Any, out: Any) -> None:
    """Fill in how many callers each activation has; a parent comes before its children."""
    for i in range(len(parents)):
        out[i] = 0 if parents[i] < 0 else out[parents[i]] + 1


@compiled()
def _common(node: Any, left: Any, index: Any, rest: Any, nodes: Any, truth: Any, row: Any) -> Any:
    """`testbed.judge.common` of ``left`` callers from ``node`` on and the ``rest`` true ones from ``index`` on."""
    pcs, outers, parents, returns = nodes[0], nodes[5], truth[0], truth[1]
    found = 0
    while left > 0 and rest > 0 and pcs[node] == returns[index]:
        node, index = outers[node], parents[index]
        left, rest, found = left - 1, rest - 1, found + 1
    a, b, both, same = node, index, min(left, rest), 0
    for _ in range(left - both):
        a = outers[a]
    for _ in range(rest - both):
        b = parents[b]
    for _ in range(both):
        same = same + 1 if pcs[a] == returns[b] else 0
        a, b = outers[a], parents[b]
    left, rest = left - same, rest - same
    for j in range(left + 1):
        row[j] = 0
    for _ in range(rest):
        diagonal, claimed = 0, node
        for j in range(1, left + 1):
            above = row[j]
            row[j] = diagonal + 1 if pcs[claimed] == returns[index] else max(above, row[j - 1])
            diagonal = above
            claimed = outers[claimed]
        index = parents[index]
    return found + same + row[left]


@compiled()
def judge_steps(
    site: Any,
    sites: Any,
    nodes: Any,
    right: Any,
    last: Any,
    most: Any,
    true_node: Any,
    truth: Any,
    judged: Any,
    columns: Any,
    registers: Any,
    depth: Any,
    row: Any,
    counted: Any,
    outcomes: Any,
    callers: Any,
) -> None:
    """Fill in the outcome of every step; add up the callers of the ``counted`` ones: said, true, found.

    ``last[i]`` is (the activation that site ``i`` was last compared with or -1, the outcome, the callers said and
    found). ``depth`` is the number of callers of each activation, ``row`` has room for ``most`` numbers. ``columns``
    are those of the trace that belong to the nodes' values, SP first; ``judged`` the set of those with a true value.
    """
    site_cfas, site_cfas_known, site_outers = sites
    parents, cfas = truth[0], truth[2]
    said, true, found = np.int64(0), np.int64(0), np.int64(0)
    for step in range(len(site)):
        here, index = site[step], true_node[step]
        if last[here, 0] != index:
            outer = site_outers[here]
            if outer == SPECIFICATION or (outer >= 0 and nodes[6][outer] == SPECIFICATION):
                outcome = UNJUDGED
            else:
                lie = site_cfas_known[here] and parents[index] >= 0 and site_cfas[here] != cfas[index]
                outcome = _judge(outer, lie, index, most, nodes, right, truth, judged, columns, registers)
            claimed = min(nodes[7][outer], most - 1) if outer >= 0 else 0
            right_ones = claimed
            if outcome == PHANTOM:
                right_ones = depth[index]
            elif outcome == WRONG:
                right_ones = _common(outer, claimed, index, depth[index], nodes, truth, row)
            last[here, 0], last[here, 1], last[here, 2], last[here, 3] = index, outcome, claimed, right_ones
        outcomes[step] = np.uint8(last[here, 1])
        if counted[step] and last[here, 1] != UNJUDGED:
            said, true, found = said + last[here, 2], true + depth[index], found + last[here, 3]
    callers[0], callers[1], callers[2] = said, true, found
