"""Reasons in words: whose a return address is that a scan finds, and what was foretold of an unexplained answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from programs import PROGRAMS
from testbed.campaign.cells import run_unit
from testbed.campaign.results import Unit
from testbed.contract.assumption import FIRST
from testbed.contract.frames import Backtrace
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.verdicts.assumptions import FoundCaller
from testbed.verdicts.assumptions.along import Accord
from testbed.verdicts.trace import failed_in
from tests.verdicts.assumptions.accords import evenly
from unwinders import UNWINDERS


def run_of(program: str, arch: str, recipe: str = "keystone") -> Run:
    return run_unit(Unit(program, arch, recipe), PROGRAMS)


@pytest.mark.parametrize(
    ("program", "recipe", "kinds"),
    [
        ("stale_addresses", "keystone", {"an earlier call of"}),
        ("moved_return", "keystone", {"in a copy that"}),
    ],
)
def test_a_copy_of_a_return_address_is_told_from_the_original(program: str, recipe: str, kinds: set[str]) -> None:
    """On x86-64 the original is the word below its activation's CFA: here by place, in the words by who wrote it."""
    run, told = run_of(program, "x86_64", recipe), Counter[str]()
    writers: dict[int, dict[int, int]] = {}  # by step: of each word the step that wrote it last
    last: dict[int, int] = {}
    writes = iter(zip(run.trace.writes.step.tolist(), run.trace.writes.address.tolist(), strict=True))
    write = next(writes, None)
    for step in range(len(run)):
        while write is not None and write[0] < step:
            last[write[1] & ~7] = write[0]
            write = next(writes, None)
        writers[step] = dict(last)
    for step in evenly(run, 200):
        failed = failed_in(run.watched, UNWINDERS["stack_scan"], step)
        if failed is None or failed.clause is not FIRST or not isinstance(failed.foretold, FoundCaller):
            continue
        at, reason = failed.foretold.at, run.reason(failed, step)
        assert at is not None
        originals = [
            activation
            for activation in run.watched.activations
            if (activation.return_address, activation.cfa) == (failed.foretold.pc, at + 8)
            and activation.opened - 1 == writers[step].get(at)
        ]
        assert ("in a copy that" in reason) is (not originals), reason
        if not originals:
            assert f"in a copy that {run.function(int(run.trace.pc[writers[step][at]]))} wrote" in reason
        told.update(kind for kind in kinds if kind in reason)
    assert told.keys() == kinds


def test_a_saved_link_register_is_the_original_and_its_reload_stored_again_is_not() -> None:
    run = run_of("leaf_call", "arm64")
    failed = failed_in(run.watched, UNWINDERS["stack_scan"], 7)
    assert failed is not None and "= _start+0xc (main's return address) passes first" in run.reason(failed, 7)


def without_the_root(said: Backtrace) -> Backtrace:
    return replace(said, frames=said.frames[:1])


@pytest.mark.parametrize(
    ("chosen", "step", "foretold"),
    [
        ("fp_chain", 7, "foretold are the true callers as far as middle, then _start+0xc, for at middle x29 leads to"),
        ("eh_frame", 7, "foretold are the true callers, to the root"),
    ],
)
def test_an_unexplained_answer_is_told_with_what_was_foretold(chosen: str, step: int, foretold: str) -> None:
    run, unwinder = run_of("leaf_call", "arm64"), UNWINDERS[chosen]
    verdict = judge(run, step, without_the_root(unwinder.unwind(run.trace.snapshot(step))), unwinder)
    assert verdict.accord in (Accord.OTHERWISE, Accord.UNFOUNDED)
    assert run.why(verdict, step).startswith(f"UNEXPLAINED: {foretold}")
    reason = "" if verdict.failed is None else run.reason(verdict.failed, step)
    assert reason in run.why(verdict, step)
