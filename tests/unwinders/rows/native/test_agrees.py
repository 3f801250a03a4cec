"""The sweep over a trace says what the walk of each snapshot says: frames, registers, CFAs, stops.

The whole corpus, some minutes: ``pytest tests/unwinders/rows/native/test_agrees.py --everything``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.backtraces import Backtraces
from testbed.contract.unwinder import Unwinder
from testbed.machine import record
from testbed.trace import Trace
from testbed.words.errors import ToolchainMissing
from tests.unwinders.said import said
from unwinders import UNWINDERS

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
PART = 11  # of this many units, one is compared unless all are asked for
NATIVE = [unwinder for unwinder in UNWINDERS.values() if unwinder.unwind_trace]


def compared(unwinder: Unwinder, trace: Trace) -> Backtraces:
    """The backtraces of a trace, after each was compared with that of its snapshot."""
    assert unwinder.unwind_trace
    found = unwinder.unwind_trace(trace)
    assert len(found) == len(trace)
    for step in range(len(trace)):
        assert said(found[step]) == said(unwinder.unwind(trace.snapshot(step))), f"{unwinder.name}, step {step}"
    return found


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_a_step_at_its_own_return_address_is_judged_anew(arch: str) -> None:
    """`coroutine_open` jumps to where its link register already leads: the same row, the same registers, another pc."""
    built = build(PROGRAMS["coroutine_open"], ARCHES[arch], RECIPES["keystone"])
    trace = record(built.image, cpu=built.cpu)
    for unwinder in NATIVE:
        if unwinder.applies_to(built.image):
            compared(unwinder, trace)


def chosen(arch: str, every: bool) -> Sequence[Unit]:
    here = [unit for unit in UNITS if unit.arch == arch]
    return here if every else here[::PART]


@pytest.mark.parametrize("arch", ARCHES)
def test_at_every_site_the_sweep_says_what_the_walk_says(arch: str, request: pytest.FixtureRequest) -> None:
    sites: Counter[str] = Counter()
    slow: Counter[str] = Counter()
    for unit in chosen(arch, request.config.getoption("--everything")):
        try:
            built = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe])
        except ToolchainMissing:
            continue
        trace = record(built.image, cpu=built.cpu)
        for unwinder in NATIVE:
            if unwinder.applies_to(built.image):
                found = compared(unwinder, trace)
                sites[unwinder.name] += len(trace)
                slow[unwinder.name] += found.by_specification
    assert sites
    assert all(count > 20 for count in sites.values()), sites
    assert sum(sites.values()) > 3000
    print(f"{arch}: {dict(sites)} sites, of these by the specification: {dict(slow)}")
