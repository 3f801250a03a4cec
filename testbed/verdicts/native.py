"""The rules of the judge, over columns: one outcome per step, one comparison per claim that is new.

With the true frames ``t[0..m]`` (innermost first, ``t[m]`` the root) and the claimed ones ``c[0..n]``:

* ``c == t`` and the root claimed: exact, if every claimed register and CFA is true;
* ``c`` a proper prefix of ``t``: ended_early if the root is claimed, else refused (n = 0) or stopped;
* ``c`` a subsequence of ``t``: skipped; ``t`` a subsequence of ``c``: phantom; anything else: wrong.

Where a callee changes its return address on purpose, either pc is right of its caller (`_is_at`).

Only what is claimed is judged: a register that a frame does not mention is unknown, not wrong. Which registers can be
judged is the ABI's choice: the callee-saved ones and SP; a caller-saved register has no true value once the call was
made. Of a frame that a signal interrupted every one is. What a frame's pc is (`FrameKind`) is judged where a signal
interrupted the frame, and where a call returns to it.

A verdict goes wrong at one frame: the first whose own unwinding gave something false. That is the frame itself where
its CFA is false, the one further in where a register or the pc is, the last one that is right where a backtrace ends.
Where functions have called themselves return addresses repeat; if nothing but pcs is claimed, a caller that is left
out or said twice among them shows at their end only, and any of these frames may be the one.

A claim about the interrupted frame (a site of `testbed.contract.unwinder`) is compared once per activation, not per
step; and a chain of callers that was found right is not compared again when another one joins it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as u64
from numpy.typing import NDArray

from testbed.contract.native import ROOT, SPECIFICATION
from testbed.native.compiled import compiled
from testbed.truth.native.near import is_at

# Places in `testbed.verdicts.trace.OUTCOMES`. UNJUDGED: the backtrace has to be made first.
EXACT, REFUSED, STOPPED, ENDED_EARLY, SKIPPED, PHANTOM, WRONG_REGISTER, WRONG = range(8)
UNJUDGED = 255
# What is false of a frame: its own CFA, or a register, which the frame further in was to restore.
CFA, REGISTER = 1, 2


class TrueStacks(NamedTuple):
    """Columns of `testbed.truth.Activations`, how many callers each has, and the registers of every step.

    ``promised[convention[i]]`` marks, in the architecture's order, the registers whose value the caller of activation
    ``i`` has again; ``sp`` is the place of SP there.
    """

    parent: NDArray[np.int32]
    return_address: NDArray[np.uint64]
    goes_on: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    opened: NDArray[np.int64]
    signal: NDArray[np.bool_]
    depth: NDArray[np.int64]
    convention: NDArray[np.int64]
    promised: NDArray[np.bool_]
    registers: NDArray[np.uint64]
    sp: np.int64


class SaidNodes(NamedTuple):
    """Columns of `testbed.contract.unwinder.CallerClaims`.

    ``interrupted[node]``: it is said that nobody called there. ``columns`` are the places of the values' registers in
    the architecture's order. ``right[node]`` is the activation against which the chain from a node on was found exact,
    or -1; ``most`` is how many frames a backtrace may have.
    """

    pc: NDArray[np.uint64]
    known: NDArray[np.uint64]
    values: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    interrupted: NDArray[np.bool_]
    columns: NDArray[np.int64]
    right: NDArray[np.int32]
    most: np.int64


class SaidSites(NamedTuple):
    """Columns of `testbed.contract.unwinder.InnermostClaims`; ``elsewhere[i]``: its pc is not the interrupted one.

    ``last[i]`` is (the activation that site ``i`` was last compared with or -1, the outcome, the frame at which it goes
    wrong, the innermost one at which it may, how many frames are right, the callers said and found).
    """

    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]
    elsewhere: NDArray[np.bool_]
    last: NDArray[np.int32]


class JudgedSteps(NamedTuple):
    """For every step what is said, what is true.

    To be filled in: the outcome; the frame at which it goes wrong and the innermost one at which it may, 0 where it
    does not; how many leading frames are right in every claim; and how many callers are said, and found.
    """

    site: NDArray[np.int32]
    node: NDArray[np.int32]
    outcome: NDArray[np.uint8]
    frame: NDArray[np.int32]
    depth: NDArray[np.int32]
    callers: NDArray[np.int32]


@compiled(inline=True)
def _is_at(pc: Any, index: Any, truth: Any) -> Any:
    """Whether the caller of activation ``index`` goes on there: nearly always at its return address."""
    returns = truth.return_address[index]
    return pc == returns or is_at(pc, returns, truth.goes_on[index])


@compiled(inline=True)
def _lies(node: Any, index: Any, is_last: Any, nodes: Any, truth: Any) -> Any:
    """What is false where a caller's CFA, its kind or a register is not what activation ``index`` comes back to; 0:
    nothing.

    The last frame that a backtrace may have has no CFA if more were found: nothing was computed from it.
    """
    parent, signal, known = truth.parent[index], truth.signal[index], nodes.known[node]
    if signal != nodes.interrupted[node] and (signal or not truth.signal[parent]):
        return REGISTER
    promises, back = truth.convention[index], truth.opened[index] - signal
    for i in range(len(nodes.columns)):
        if (known >> u64(i)) & u64(1):
            column = nodes.columns[i]
            if signal or truth.promised[promises, column]:
                true = truth.cfa[index] if column == truth.sp else truth.registers[back, column]
                if nodes.values[node, i] != true:
                    return REGISTER
    cut = is_last and nodes.outer[node] >= 0
    if not cut and nodes.cfa_known[node] and truth.parent[parent] >= 0 and nodes.cfa[node] != truth.cfa[parent]:
        return CFA
    return 0


@compiled(inline=True)
def _is_within(node: Any, left: Any, index: Any, nodes: Any, truth: Any) -> Any:
    """True where the claimed pcs from ``node`` on, ``left`` of them, are among the true ones in this order."""
    while node >= 0 and left > 0:
        while truth.parent[index] >= 0 and not _is_at(nodes.pc[node], index, truth):
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
        while node >= 0 and left > 0 and not _is_at(nodes.pc[node], index, truth):
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
    """The outcome of a chain of callers against those of an activation, the frames at which it may go wrong, and how
    many are right.

    ``lie``: the interrupted frame's CFA is wrong.
    """
    node, index, agreed, wrong, right = outer, innermost, 1, 0, 0
    kind, most = -1, nodes.most
    while node >= 0 and agreed < most and truth.parent[index] >= 0:
        if nodes.right[node] == index and agreed + nodes.depth[node] <= most:
            kind = EXACT
            break
        if not _is_at(nodes.pc[node], index, truth):
            break
        if not lie:
            what = _lies(node, index, agreed + 1 >= most, nodes, truth)
            if what:
                lie, right, wrong = True, agreed, agreed if what == CFA else agreed - 1
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
    if lie:
        return (WRONG_REGISTER if kind in (EXACT, REFUSED, STOPPED) else kind), wrong, wrong, right
    if kind == EXACT:
        return kind, 0, 0, truth.depth[innermost] + 1
    return kind, agreed - 1, _since(outer, innermost, agreed - 1, nodes, truth), agreed


@compiled()
def _common(node: Any, left: Any, index: Any, nodes: Any, truth: Any, row: Any) -> Any:
    """The length of a longest common subsequence of ``left`` callers from ``node`` on and the true ones from ``index``
    on."""
    pcs, outers, parents = nodes.pc, nodes.outer, truth.parent
    found, rest = 0, truth.depth[index]
    while left > 0 and rest > 0 and _is_at(pcs[node], index, truth):
        node, index = outers[node], parents[index]
        left, rest, found = left - 1, rest - 1, found + 1
    a, b, both, same = node, index, min(left, rest), 0
    for _ in range(left - both):
        a = outers[a]
    for _ in range(rest - both):
        b = parents[b]
    for _ in range(both):
        same = same + 1 if _is_at(pcs[a], b, truth) else 0
        a, b = outers[a], parents[b]
    left, rest = left - same, rest - same
    for j in range(left + 1):
        row[j] = 0
    for _ in range(rest):
        diagonal, claimed = 0, node
        for j in range(1, left + 1):
            above = row[j]
            row[j] = diagonal + 1 if _is_at(pcs[claimed], index, truth) else max(above, row[j - 1])
            diagonal = above
            claimed = outers[claimed]
        index = parents[index]
    return found + same + row[left]


@compiled(pays_from=800_000)
def judge_steps(steps: Any, sites: Any, nodes: Any, truth: Any, row: Any) -> None:
    """Fill in what came of every step. ``row`` has room for one number more than a backtrace has callers."""
    last = sites.last
    for step in range(len(steps.site)):
        here, index = steps.site[step], steps.node[step]
        if last[here, 0] != index:
            _judge_site(here, index, sites, nodes, truth, row)
        steps.outcome[step] = np.uint8(last[here, 1])
        steps.frame[step, 0], steps.frame[step, 1], steps.depth[step] = last[here, 2], last[here, 3], last[here, 4]
        steps.callers[step, 0], steps.callers[step, 1] = last[here, 5], last[here, 6]


@compiled(inline=True)
def _judge_site(here: Any, index: Any, sites: Any, nodes: Any, truth: Any, row: Any) -> None:
    """Compare a site with an activation, and note what came of it."""
    outer, last = sites.outer[here], sites.last
    frame, since, right = 0, 0, 0
    if outer == SPECIFICATION or (outer >= 0 and nodes.end[outer] == SPECIFICATION):
        outcome = UNJUDGED
    elif sites.elsewhere[here]:
        outcome = WRONG
    else:
        lie = sites.cfa_known[here] and truth.parent[index] >= 0 and sites.cfa[here] != truth.cfa[index]
        outcome, frame, since, right = _judge(outer, lie, index, nodes, truth)
    claimed = min(nodes.depth[outer], nodes.most - 1) if outer >= 0 else 0
    found = claimed
    if outcome == PHANTOM:
        found = truth.depth[index]
    elif outcome == WRONG:
        found = _common(outer, claimed, index, nodes, truth, row)
    last[here, 0], last[here, 1], last[here, 2], last[here, 3] = index, outcome, frame, since
    last[here, 4], last[here, 5], last[here, 6] = right, claimed, found
