"""The native facts of sites equal the readable ones on made-up columns, where every kind of tie happens."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.truth.sites import _cuts, _facts
from testbed.truth.sites_native import segment_facts, steps_by_activation


@pytest.mark.parametrize("seed", range(60))
def test_on_columns_of_few_values(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, activations = int(random.integers(1, 120)), int(random.integers(1, 5))
    node = random.integers(0, activations, count).astype(np.int32)
    if seed % 2:
        node = np.sort(node)  # long stretches of one activation
    sp, pointer = (random.integers(0, int(random.integers(1, 4)), count).astype(np.uint64) << 60 for _ in range(2))
    transfer = random.random(count) < 0.2
    # What has moved is a fact of the pair; now and then it is not, in code of two instruction sets.
    moved, lowered = pointer != pointer[0], sp != sp[0]
    if seed % 3 == 0:
        moved ^= random.random(count) < 0.1
    readable = _facts(sp, node, transfer, pointer, moved, lowered)
    order = steps_by_activation(node, activations)
    assert order.tolist() == np.argsort(node, kind="stable").tolist()
    starts = np.flatnonzero(_cuts(order, node, transfer, moved | lowered))
    native = segment_facts(order, starts, sp, pointer, moved, lowered)
    for name, left, right in zip(("prologue", "epilogue", "frameless"), readable, native, strict=True):
        assert left.tolist() == right.tolist(), name
    assert count < 20 or any(fact.any() for fact in native)
