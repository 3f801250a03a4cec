"""The kernels that judge, on chains of callers that are written down: pcs alone decide, or what is said of the last."""

import numpy as np
import pytest

from testbed.contract.native import ROOT, SPECIFICATION, STOPPED
from testbed.native.compiled import native
from testbed.verdicts import native as judge
from testbed.verdicts.native import (
    ENDED_EARLY,
    EXACT,
    PHANTOM,
    REFUSED,
    SKIPPED,
    UNJUDGED,
    WRONG,
    WRONG_REGISTER,
    JudgedSteps,
    SaidNodes,
    SaidSites,
    TrueStacks,
)


def true_stack(*callers: int) -> TrueStacks:
    """An activation for each caller and one that they called, the last one; CFAs are 0x10 times their number."""
    count = len(callers) + 1
    parents, returns = np.arange(-1, count - 1, dtype=np.int32), np.array([0, *reversed(callers)], np.uint64)
    nowhere, cfas = np.zeros(count, np.uint64), 0x10 * np.arange(count, dtype=np.uint64)
    registers = np.arange(2 * count, dtype=np.uint64).reshape(count, 2)
    depth, convention, promised = np.arange(count), np.zeros(count, np.int64), np.ones((1, 2), np.bool_)
    return TrueStacks(
        *(parents, returns, nowhere, cfas, np.arange(count), np.zeros(count, np.bool_)),
        *(depth, convention, promised, registers, np.int64(0)),
    )


def said_nodes(*callers: int, end: int, most: int, rbx: int, cfa: int) -> SaidNodes:
    """A node for each caller, the outermost one first, and a last one that nobody can judge here.

    The innermost caller says ``rbx`` and ``cfa``, where they are not -1; the others know nothing.
    """
    count = len(callers) + 1
    links = [end, *range(len(callers) - 1)][: len(callers)]
    outer = np.array([*links, SPECIFICATION], np.int32)
    ends = np.array([*[end for _ in callers], SPECIFICATION], np.int32)
    known, values, cfas = np.zeros(count, np.uint64), np.zeros((count, 2), np.uint64), np.zeros(count, np.uint64)
    if callers:
        known[-2], values[-2, 1], cfas[-2] = 2 * (rbx >= 0), max(rbx, 0), max(cfa, 0)
    cfa_known = np.arange(count) == (count - 2 if cfa >= 0 else -1)
    depth = np.array([*range(1, count), 1], np.int32)
    pcs, right = np.array([*reversed(callers), 0], np.uint64), np.full(count, -1, np.int32)
    called, columns = np.zeros(count, np.bool_), np.arange(2)
    return SaidNodes(*(pcs, known, values, cfas, cfa_known, outer, ends, depth, called, columns, right, np.int64(most)))


def judged(
    said: tuple[int, ...],
    true: tuple[int, ...],
    *,
    end: int = ROOT,
    most: int = 256,
    own_cfa: int = -1,
    rbx: int = -1,
    cfa: int = -1,
) -> tuple[int, int | tuple[int, int], list[int]]:
    """The outcome, the frame at which it goes wrong, or the first and last at which it may, and the callers said,
    true and found."""
    truth, nodes = true_stack(*true), said_nodes(*said, end=end, most=most, rbx=rbx, cfa=cfa)
    outer, own = len(said) - 1 if said else end, (np.array([max(own_cfa, 0)], np.uint64), np.array([own_cfa >= 0]))
    sites = SaidSites(*own, np.array([outer], np.int32), np.zeros(1, np.bool_), np.full((1, 7), -1, np.int32))
    here, active, depth = np.zeros(1, np.int32), np.array([len(true)], np.int32), np.zeros(1, np.int32)
    pairs = np.zeros((2, 1, 2), np.int32)
    steps = JudgedSteps(here, active, np.zeros(1, np.uint8), pairs[0], depth, pairs[1])
    native(judge.judge_steps, when=False)(steps, sites, nodes, truth, np.zeros(most + 1, np.int64))
    (frame, since), (claimed, found) = pairs[:, 0].tolist()
    return int(steps.outcome[0]), frame if frame == since else (frame, since), [claimed, len(true), found]


@pytest.mark.parametrize(
    ("said", "true", "how", "expected"),
    [
        ((1, 2, 3), (1, 2, 3), {}, (EXACT, 0, [3, 3, 3])),
        ((), (), {}, (EXACT, 0, [0, 0, 0])),
        ((), (1,), {}, (ENDED_EARLY, 0, [0, 1, 0])),
        ((), (1,), {"end": STOPPED}, (REFUSED, 0, [0, 1, 0])),
        ((), (1,), {"end": SPECIFICATION}, (UNJUDGED, 0, [0, 1, 0])),
        ((2, 3), (1, 2, 3), {}, (SKIPPED, 0, [2, 3, 2])),
        ((9, 1, 2), (1, 2), {}, (PHANTOM, 0, [3, 2, 2])),
        ((9, 8), (1, 2), {}, (WRONG, 0, [2, 2, 0])),
        ((9, 1), (1, 2), {}, (WRONG, 0, [2, 2, 1])),
        ((9, 2), (1, 2), {}, (WRONG, 0, [2, 2, 1])),
        # Only so many frames are looked at, the interrupted one among them.
        ((2, 3, 9), (1, 2, 3, 4), {"most": 3}, (SKIPPED, 0, [2, 4, 2])),
        ((2, 3, 9), (1, 2, 3, 4), {"most": 4}, (WRONG, 0, [3, 4, 2])),
        ((9, 1, 2), (1, 2), {"most": 3}, (WRONG, 0, [2, 2, 1])),
        ((9, 1, 2), (1, 2), {"most": 4}, (PHANTOM, 0, [3, 2, 2])),
        ((9, 8, 1), (1,), {"most": 3}, (WRONG, 0, [2, 1, 0])),
        ((9, 8, 1), (1,), {"most": 4}, (PHANTOM, 0, [3, 1, 1])),
        # What frames say besides.
        ((1, 9), (1, 2), {"rbx": 5}, (WRONG, 1, [2, 2, 1])),
        ((1, 9), (1, 2), {}, (WRONG, 1, [2, 2, 1])),
        # A pc alone that repeats may stand for another one like it, said or true.
        ((1, 1, 9), (1, 1, 2), {}, (WRONG, (2, 0), [3, 3, 2])),
        ((3, 1, 9, 1), (3, 1, 2), {}, (WRONG, (2, 1), [4, 3, 2])),
        ((3, 1, 9), (3, 1, 2, 1), {}, (WRONG, (2, 1), [3, 4, 2])),
        ((1, 3, 9), (1, 3, 1), {}, (WRONG, 2, [3, 3, 2])),
        ((1, 9), (1, 2), {"cfa": 0x10}, (WRONG, 1, [2, 2, 1])),
        ((1, 2), (1, 2), {"rbx": 4}, (WRONG_REGISTER, 0, [2, 2, 2])),
        ((1, 2), (1, 2), {"cfa": 0x11}, (WRONG_REGISTER, 1, [2, 2, 2])),
        ((1, 2), (1, 2), {"own_cfa": 0x20}, (EXACT, 0, [2, 2, 2])),
        ((1, 2), (1, 2), {"own_cfa": 0x21}, (WRONG_REGISTER, 0, [2, 2, 2])),
        ((), (1,), {"end": STOPPED, "own_cfa": 0x11}, (WRONG_REGISTER, 0, [0, 1, 0])),
        ((), (1,), {"own_cfa": 0x11}, (ENDED_EARLY, 0, [0, 1, 0])),
    ],
)
def test_a_chain_of_callers(
    said: tuple[int, ...],
    true: tuple[int, ...],
    how: dict[str, int],
    expected: tuple[int, int | tuple[int, int], list[int]],
) -> None:
    assert judged(said, true, **how) == expected
