"""Local calls that never return: a function calls a place in itself, and does not come back from there.

A retpoline calls over a trap, writes another address over the one that was pushed, and "returns" there; one that stands
in a function is called first, so that its target comes back for it; what fills the processor's return predictor calls
several times and takes all the addresses off the stack at once; a `call` over a string is followed by a `pop`. By its
effect such a call opens an activation. But as long as control is in the function itself, nobody has been called, and
the words on the stack are its own: a row may say that, as GCC's do in its thunks, or take it for the call that it looks
like. A local subroutine comes back by itself; it is judged as one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.checks.native.codes import RETURN_ADDRESS
from testbed.checks.row_checks import RowChecks, check_rows
from testbed.checks.row_columns import Evaluate
from testbed.contract.rows import RowTable
from testbed.image import LoadedImage
from testbed.truth import Truth
from testbed.truth.events import Bools
from testbed.truth.native.near import NEAR


@dataclass(frozen=True, eq=False)
class LocalCalls:
    """A trace in which local calls that never return are jumps.

    ``steps`` are in another activation by that. ``doubtful`` steps are of a local call that may come back: its path was
    stopped before it did.
    """

    truth: Truth
    steps: Bools = field(repr=False)
    doubtful: Bools = field(repr=False)


def local_calls(watched: Truth, whole: Bools) -> LocalCalls | None:
    """The local calls of a trace that never come back; None where there are none. ``whole``: of paths that ended."""
    activations, trace, node = watched.activations, watched.trace, watched.node
    opened = activations.opened
    called = np.flatnonzero((activations.parent >= 0) & (opened > 0))
    called = called[node[opened[called] - 1] == activations.parent[called]]
    pairs = np.stack((trace.pc[opened[called] - 1], trace.pc[opened[called]]), axis=1)
    distinct, of_call = np.unique(pairs, axis=0, return_inverse=True)
    local = np.array([_is_within(watched, site, target) for site, target in distinct.tolist()], np.bool_)
    called = called[local[of_call.reshape(-1)]] if len(called) else called
    if not len(called):
        return None
    back = np.array([_comes_back(watched, index) for index in called.tolist()], np.bool_)
    sites = trace.pc[opened[called] - 1]
    called = called[~np.isin(sites, sites[back])]
    if not len(called):
        return None
    over = whole[opened[called]] | (activations.goes_on[called] != 0)
    onto = np.arange(len(activations))
    for index in called[over].tolist():  # a parent comes before what it called
        onto[index] = onto[activations.parent[index]]
    steps = np.flatnonzero(onto[node] != node)
    pcs, of_step = np.unique(trace.pc[steps], return_inverse=True)
    functions = np.array([watched.named_function(pc) for pc in pcs.tolist()], np.uint64)
    own = np.array([watched.named_function(site) for site in trace.pc[opened - 1].tolist()], np.uint64)
    steps = steps[functions[of_step] == own[node[steps]]]
    folded = node.copy()
    folded[steps] = onto[node[steps]]
    doubtful = np.isin(node, called[~over])
    transition = watched.sites.transition & ~((folded != node) & _stays(watched.sites.transition, folded))
    truth = replace(watched, node=folded, sites=replace(watched.sites, transition=transition))
    return LocalCalls(truth, folded != node, doubtful)


def _stays(transition: Bools, node: NDArray[np.int32]) -> Bools:
    """Which steps of transitions lead to a place in the same activation: who jumps there stays in his function."""
    ends = np.flatnonzero(transition[:-1] & ~transition[1:])
    after = np.searchsorted(ends, np.arange(len(node)))
    end = np.append(ends, len(node) - 1)[after]
    stays: Bools = transition & (node[np.minimum(end + 1, len(node) - 1)] == node)
    return stays


def rows_beside(
    watched: Truth,
    local: LocalCalls | None,
    table: RowTable,
    loaded: LoadedImage,
    *,
    at_calls: bool = False,
    evaluate: Evaluate | None = None,
    natively: bool = False,
) -> RowChecks:
    """A table compared with a trace twice: its local calls as calls, and as jumps."""
    checks = check_rows(watched, table, loaded, at_calls=at_calls, evaluate=evaluate, natively=natively)
    if local is None:
        return checks
    jumps = check_rows(local.truth, table, loaded, steps=local.steps, at_calls=at_calls, evaluate=evaluate)
    return as_call_or_jump(checks, jumps, local)


def _is_within(watched: Truth, site: int, target: int) -> bool:
    """Is a call one of a place inside the function that it stands in?"""
    function = watched.named_function(site)
    return function != 0 and watched.named_function(target) == function != target


def _comes_back(watched: Truth, index: int) -> bool:
    """Does control come from the function itself to the return address of an activation, or a little behind it?"""
    trace, parent = watched.trace, int(watched.activations.parent[index])
    opened, returns = int(watched.activations.opened[index]), int(watched.activations.return_address[index])
    later = np.flatnonzero(watched.node[opened:] == parent)
    if not len(later):
        return False
    step = opened + int(later[0])
    functions = {watched.named_function(int(trace.pc[at])) for at in (opened, step - 1, step)}
    return len(functions) == 1 and returns <= int(trace.pc[step]) <= returns + NEAR


def as_call_or_jump(as_calls: RowChecks, as_jumps: RowChecks, local: LocalCalls) -> RowChecks:
    """Checks by both truths as one: right is what either says; what both say is wrong is told as of a jump.

    Of a call that nobody returns from its own return address is not asked: it may be written over.
    """
    told = local.steps & as_jumps.compared
    wrong = told & as_calls.compared & (as_jumps.wrong != 0)
    unclear = (wrong & (as_calls.wrong & ~np.uint64(RETURN_ADDRESS) == 0)) | (local.doubtful & (as_calls.wrong != 0))
    return replace(
        as_calls,
        compared=(as_calls.compared | told) & ~unclear,
        wrong=np.where(told, as_jumps.wrong, as_calls.wrong),
        untried=np.where(told, as_jumps.untried, as_calls.untried),
    )
