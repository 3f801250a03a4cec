"""At how many steps each observed trait holds, of the innermost frame and of its caller: pinned.

A rule that is changed shows here at once. `pytest --update-golden tests/truth/test_trait_counts.py` writes the counts;
their diff is what one reviews.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.truth import Truth
from testbed.truth.columns import COLUMNS, trait_at
from testbed.truth.frame_sites import frame_sites
from tests.truth.watched import agree_in_columns

COUNTS = Path(__file__).with_name("trait_counts.json")
ISAS = {
    "x86_64": ("x86_64", "keystone"),
    "arm64": ("arm64", "keystone"),
    "a32": ("arm32", "keystone"),
    "thumb": ("arm32", "keystone-thumb"),
}
NAMES = ("leaf_call", "longjmp", "moved_return", "no_symbol", "null_call", "signal", "stale_addresses", "tail_call")


def counts(truth: Truth) -> dict[str, object]:
    """{trait: [steps at which it holds of the innermost frame, of its caller]}, and how many activations there were."""
    steps = np.arange(len(truth.trace))
    found: dict[str, list[int]] = {}
    for depth in (0, 1):
        readable: Counter[str] = Counter(
            trait.name for step in steps.tolist() for trait in truth.frame_traits(step, depth)
        )
        if truth.trace.sizes.all():
            at = frame_sites(truth.trace, truth.activations, truth.node, steps, np.full(len(steps), depth))
            columns = {trait.name: int(trait_at(truth, at, trait).sum()) for trait in COLUMNS}
            assert {name: number for name, number in columns.items() if number} == dict(readable)
        for name, number in readable.items():
            found.setdefault(name, [0, 0])[depth] = number
    return {
        "activations": len(truth.activations),
        "frames": sum(len(truth.stack(k).frames) for k in steps.tolist()),
    } | dict(sorted(found.items()))


@pytest.mark.parametrize("isa", ISAS)
def test_each_trait_holds_at_as_many_steps_as_ever(isa: str, request: pytest.FixtureRequest) -> None:
    arch, recipe = ISAS[isa]
    found = {name: counts(run_program(PROGRAMS[name], ARCHES[arch], recipe).watched) for name in NAMES}
    pinned = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    if request.config.getoption("--update-golden"):
        lines = [
            f' "{key}": {{\n' + ",\n".join(f'  "{name}": {json.dumps(of)}' for name, of in each.items()) + "\n }"
            for key, each in sorted({**pinned, isa: found}.items())
        ]
        COUNTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    assert found == pinned[isa]


def test_any_signed_steps_are_read_alike_by_rules_and_columns() -> None:
    """Made up: where signatures come and go with SP, too."""
    truth = run_program(PROGRAMS["leaf_call"], ARCHES["arm64"], "keystone").watched
    for seed in range(3):
        made_up = replace(truth)
        made_up.__dict__["signed"] = np.random.default_rng(seed).random(len(truth.trace)) < 0.5
        agree_in_columns(made_up)
