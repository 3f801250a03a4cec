"""Frames far out: the same as climbing one by one, in a time that grows as the trace does, not with its square."""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
import pytest

from testbed.trace import Trace
from testbed.truth.frame_sites import ancestors, frame_site, frame_sites, heights
from testbed.truth.model import Activations


class _Pcs:
    """All that is asked of a trace."""

    def __init__(self, count: int) -> None:
        self.pc = np.arange(count, dtype=np.uint64) * 4


def _activations(parent: np.ndarray[Any, Any]) -> Activations:
    numbers = np.arange(len(parent))
    words = [(numbers * factor).astype(np.uint64) for factor in (3, 5, 7, 11)]
    return Activations(parent.astype(np.int32), words[0], words[1], words[2], numbers * 2, words[3], parent < -1)


@pytest.mark.parametrize("seed", range(6))
def test_frames_far_out_are_those_that_one_finds_one_by_one(seed: int) -> None:
    chance = np.random.default_rng(seed)
    parent = np.array([-1] + [int(chance.integers(max(0, i - 3), i)) for i in range(1, 900)])
    parent[chance.integers(0, 900, 2)] = -1  # other stacks
    activations, count = _activations(parent), 400
    trace = cast(Trace, _Pcs(count))
    node = chance.integers(0, 900, count).astype(np.int32)
    steps = np.arange(count)
    depths = chance.integers(0, 700, count)
    found = frame_sites(trace, activations, node, steps, depths)
    columns = (found.step, found.depth, found.node, found.own, found.pc)
    for step, each in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        assert each == frame_site(trace, activations, node, step, int(depths[step]))
    assert (found.depth > 130).sum() > 50


def test_ancestors_and_heights_of_one_chain() -> None:
    parent = np.arange(-1, 999, dtype=np.int32)
    assert heights(parent).tolist() == list(range(1000))
    nodes = np.full(1000, 999, np.int32)
    assert ancestors(parent, nodes, np.arange(1000)).tolist() == list(range(999, -1, -1))


def test_endless_recursion_takes_no_time_without_end() -> None:
    """A stack of 200,000 frames, and as many steps: one by one, 20,000,000,000 climbs."""
    count = 200_000
    activations = _activations(np.arange(-1, count - 1))
    begin = time.process_time()
    steps = np.arange(count)
    found = frame_sites(cast(Trace, _Pcs(count)), activations, steps.astype(np.int32), steps, steps)
    assert found.node.tolist() == [0] * count and found.depth.tolist() == steps.tolist()
    assert time.process_time() - begin < 10
