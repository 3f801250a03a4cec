"""The rules of `testbed.verdicts.one` over columns: one outcome per step, one comparison per claim that is new.

A claim about the interrupted frame (a site of `testbed.contract.backtraces`) is compared once per activation, not per
step; and a chain of callers that was found right is not compared again when another one joins it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as u64
from numpy.typing import NDArray

from testbed.contract.native import ROOT, SPECIFICATION
from testbed.native.compiled import compiled

# Places in `testbed.verdicts.trace.OUTCOMES`. UNJUDGED: the backtrace has to be made first.
EXACT, REFUSED, STOPPED, ENDED_EARLY, SKIPPED, PHANTOM, WRONG_REGISTER, WRONG = range(8)
UNJUDGED = 255
# What is false of a frame: its own CFA, or a register, which the frame further in was to restore.
CFA, REGISTER = 1, 2


class TrueStacks(NamedTuple):
    """The activations, each with how many callers it has, and the registers of every step.

    ``columns`` are those of the registers that belong to the nodes' values, SP first; ``judged`` is, for each
    activation, the set of those whose value its caller has again.
    """

    parent: NDArray[np.int32]
    return_address: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    opened: NDArray[np.int64]
    depth: NDArray[np.int32]
    registers: NDArray[np.uint64]
    columns: NDArray[np.int64]
    judged: NDArray[np.uint64]


class SaidNodes(NamedTuple):
    """Columns of `testbed.contract.backtraces.CallerClaims`.

    ``right[node]`` is the activation against which the chain from a node on was found exact, or -1; ``most`` is how
    many frames a backtrace may have.
    """

    pc: NDArray[np.uint64]
    known: NDArray[np.uint64]
    values: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    right: NDArray[np.int32]
    most: np.int64


class SaidSites(NamedTuple):
    """Columns of `testbed.contract.backtraces.InnermostClaims`.

    ``last[i]`` is (the activation that site ``i`` was last compared with or -1, the outcome, the callers said and
    found, the frame at which it goes wrong, the innermost one at which it may).
    """

    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]
    last: NDArray[np.int32]


class JudgedSteps(NamedTuple):
    """For every step what is said, what is true, whether its callers are counted.

    To be filled in: the outcome, the frame at which it goes wrong and the innermost one at which it may, 0 where it
    does not.
    """

    site: NDArray[np.int32]
    node: NDArray[np.int32]
    counted: NDArray[np.bool_]
    outcome: NDArray[np.uint8]
    frame: NDArray[np.int32]


@compiled(inline=True)
def _lies(node: Any, index: Any, is_last: Any, nodes: Any, truth: Any) -> Any:
    """What is false where a caller's CFA or a register is not what activation ``index`` comes back to; 0: nothing.

    The last frame that a backtrace may have has no CFA if more were found: nothing was computed from it.
    """
    known = nodes.known[node] & truth.judged[index]
    for i in range(len(truth.columns)):
        if (known >> u64(i)) & u64(1):
            true = truth.cfa[index] if i == 0 else truth.registers[truth.opened[index], truth.columns[i]]
            if nodes.values[node, i] != true:
                return REGISTER
    parent = truth.parent[index]
    cut = is_last and nodes.outer[node] >= 0
    if not cut and nodes.cfa_known[node] and truth.parent[parent] >= 0 and nodes.cfa[node] != truth.cfa[parent]:
        return CFA
    return 0


@compiled(inline=True)
def _is_within(node: Any, left: Any, index: Any, nodes: Any, truth: Any) -> Any:
    """True where the claimed pcs from ``node`` on, ``left`` of them, are among the true ones in this order."""
    while node >= 0 and left > 0:
        while truth.parent[index] >= 0 and truth.return_address[index] != nodes.pc[node]:
            index = truth.parent[index]
        if truth.parent[index] < 0:
            return False
        index = truth.parent[index]
        node = nodes.outer[node]
        left -= 1
    return True


@compiled(inline=True)
def _holds(node: Any, left: Any, index: Any, nodes: Any, truth: Any) -> Any:
    """True where the true pcs from ``index`` on are among the claimed ones in this order."""
    while truth.parent[index] >= 0:
        while node >= 0 and left > 0 and nodes.pc[node] != truth.return_address[index]:
            node = nodes.outer[node]
            left -= 1
        if node < 0 or left <= 0:
            return False
        node = nodes.outer[node]
        left -= 1
        index = truth.parent[index]
    return True


@compiled(inline=True)
def _repeats(pc: Any, outer: Any, innermost: Any, nodes: Any, truth: Any) -> Any:
    """True where a return address occurs more than once, among those that are said or among the true ones."""
    node, left, times = outer, nodes.most - 1, 0
    while node >= 0 and left > 0 and times < 2:
        times = times + 1 if nodes.pc[node] == pc else times
        node, left = nodes.outer[node], left - 1
    index, again = innermost, 0
    while truth.parent[index] >= 0 and times < 2 and again < 2:
        again = again + 1 if truth.return_address[index] == pc else again
        index = truth.parent[index]
    return times > 1 or again > 1


@compiled()
def _since(outer: Any, innermost: Any, frame: Any, nodes: Any, truth: Any) -> Any:
    """The innermost frame from which on up to ``frame`` nothing but return addresses is claimed, and all repeat."""
    node, found = outer, 0
    for at in range(1, frame + 1):
        cfa = nodes.cfa_known[node] and (at + 1 < nodes.most or nodes.outer[node] < 0)
        bare = nodes.known[node] == 0 and not cfa
        if not (bare and _repeats(nodes.pc[node], outer, innermost, nodes, truth)):
            found = at
        node = nodes.outer[node]
    return found


@compiled(inline=True)
def _judge(outer: Any, lie: Any, innermost: Any, nodes: Any, truth: Any) -> Any:
    """The outcome of a chain of callers against those of an activation, and the frames at which it may go wrong.

    ``lie``: the interrupted frame's CFA is wrong.
    """
    node, index, agreed, wrong = outer, innermost, 1, 0
    kind, most = -1, nodes.most
    while node >= 0 and agreed < most and truth.parent[index] >= 0:
        if nodes.right[node] == index and agreed + nodes.depth[node] <= most:
            kind = EXACT
            break
        if nodes.pc[node] != truth.return_address[index]:
            break
        if not lie:
            what = _lies(node, index, agreed + 1 >= most, nodes, truth)
            if what:
                lie, wrong = True, agreed if what == CFA else agreed - 1
        agreed += 1
        node, index = nodes.outer[node], truth.parent[index]
    if kind == EXACT:
        pass
    elif node == ROOT:
        kind = EXACT if truth.parent[index] < 0 else ENDED_EARLY
    elif node < 0 or agreed >= most:
        kind = REFUSED if agreed == 1 and truth.parent[innermost] >= 0 else STOPPED
    elif _is_within(node, most - agreed, index, nodes, truth):
        kind = SKIPPED
    elif _holds(node, most - agreed, index, nodes, truth):
        kind = PHANTOM
    else:
        kind = WRONG
    if kind == EXACT and not lie:
        node, index = outer, innermost
        while node >= 0 and nodes.right[node] != index:
            nodes.right[node] = index
            node, index = nodes.outer[node], truth.parent[index]
    since = wrong
    if not lie and kind != EXACT:
        wrong = agreed - 1
        since = _since(outer, innermost, wrong, nodes, truth)
    return (WRONG_REGISTER if lie and kind in (EXACT, REFUSED, STOPPED) else kind), wrong, since


@compiled()
def depths(parents: Any, out: Any) -> None:
    """Fill in how many callers each activation has; a parent comes before its children."""
    for i in range(len(parents)):
        out[i] = 0 if parents[i] < 0 else out[parents[i]] + 1


@compiled()
def _common(node: Any, left: Any, index: Any, nodes: Any, truth: Any, row: Any) -> Any:
    """`testbed.verdicts.one.common` of ``left`` callers from ``node`` on and the true ones from ``index`` on."""
    pcs, outers, parents, returns = nodes.pc, nodes.outer, truth.parent, truth.return_address
    found, rest = 0, truth.depth[index]
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


@compiled(pays_from=800_000)
def judge_steps(steps: Any, sites: Any, nodes: Any, truth: Any, row: Any, callers: Any) -> None:
    """Fill in the outcome of every step; add up the callers of the ``counted`` ones: said, true, found.

    ``row`` has room for one number more than a backtrace may have frames.
    """
    last = sites.last
    said, true, found = np.int64(0), np.int64(0), np.int64(0)
    for step in range(len(steps.site)):
        here, index = steps.site[step], steps.node[step]
        if last[here, 0] != index:
            _judge_site(here, index, sites, nodes, truth, row)
        steps.outcome[step] = np.uint8(last[here, 1])
        steps.frame[step, 0], steps.frame[step, 1] = last[here, 4], last[here, 5]
        if steps.counted[step] and last[here, 1] != UNJUDGED:
            said, true, found = said + last[here, 2], true + truth.depth[index], found + last[here, 3]
    callers[0], callers[1], callers[2] = said, true, found


@compiled(inline=True)
def _judge_site(here: Any, index: Any, sites: Any, nodes: Any, truth: Any, row: Any) -> None:
    """Compare a site with an activation, and note what came of it."""
    outer, last = sites.outer[here], sites.last
    frame, since = 0, 0
    if outer == SPECIFICATION or (outer >= 0 and nodes.end[outer] == SPECIFICATION):
        outcome = UNJUDGED
    else:
        lie = sites.cfa_known[here] and truth.parent[index] >= 0 and sites.cfa[here] != truth.cfa[index]
        outcome, frame, since = _judge(outer, lie, index, nodes, truth)
    claimed = min(nodes.depth[outer], nodes.most - 1) if outer >= 0 else 0
    right_ones = claimed
    if outcome == PHANTOM:
        right_ones = truth.depth[index]
    elif outcome == WRONG:
        right_ones = _common(outer, claimed, index, nodes, truth, row)
    last[here, 0], last[here, 1], last[here, 2], last[here, 3] = index, outcome, claimed, right_ones
    last[here, 4], last[here, 5] = frame, since
