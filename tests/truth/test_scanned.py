"""What is found natively of long traces is what the readable rules find."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.units import build_unit, units
from testbed.runs.run import run_built
from testbed.truth.scanned import find_transfers_natively
from testbed.truth.sites import describe_sites
from testbed.truth.transfers import find_transfers
from testbed.truth.truth import path_of
from testbed.truth.windows import watch
from testbed.truth.windows.hindsight import Known
from testbed.truth.windows.watch import survey
from testbed.truth.windows.window import windows
from tests.truth.pieces import chunks_of_trace

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


@pytest.mark.parametrize("arch", ARCHES)
def test_native_scans_agree_with_the_readable_rules(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, returns = 0, 0
    for unit in [u for u in UNITS if u.arch == arch][5::23]:
        built = build_unit(unit, PROGRAMS)
        trace = run_built(built).trace
        if built.source.header.signals:
            continue
        readable, native = find_transfers(trace), find_transfers_natively(replace(trace))
        for name in ("fall", "transfer", "call", "drops", "stored"):
            assert np.array_equal(getattr(readable, name), getattr(native, name)), (unit, name)
        path = path_of(trace, readable, False)
        one, other = (describe_sites(trace, readable, path, natively=natively) for natively in (False, True))
        for field in fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), (unit, field.name)
        known: list[Known] = []
        for least in (0, len(trace) + 1):
            monkeypatch.setattr(watch, "NATIVE_FROM", least)
            known.append(survey(lambda trace=trace: windows(chunks_of_trace(trace, 50))))  # type: ignore[misc]
        assert np.array_equal(known[0].returns, known[1].returns), unit
        compared, returns = compared + len(trace), returns + len(known[0].returns)
    assert compared > 1_000 and returns > 5
