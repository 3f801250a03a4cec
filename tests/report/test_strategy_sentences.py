"""A strategy's sentence names the instruction that changed what it sees, and what that instruction did."""

from __future__ import annotations

import re

import pytest

from programs import PROGRAMS
from testbed.campaign.results import Unit
from testbed.campaign.score_card import score_unit
from testbed.report.stepper import answer_data, strategy_sentence
from testbed.runs.judging import judge_all
from testbed.truth.phases import PHASES
from tests.report.judged import judged
from unwinders import UNWINDERS

HEAR = "goes wrong at middle, 1 frame further out: "


@pytest.mark.parametrize(
    ("program", "arch", "strategy", "sentence"),
    [
        ("leaf_call", "arm64", "eh_frame", "right at every instruction"),
        (
            "leaf_call",
            "arm64",
            "fp_chain",
            "sees leaf's caller from leaf+0x8 on: `mov x29, sp` links the frame record; "
            "loses it at leaf+0x14: `ldp x29, x30, [sp], #0x10` unlinks the frame record",
        ),
        (
            "leaf_call",
            "x86_64",
            "fp_chain",
            "sees leaf's caller from leaf+0x4 on: `mov rbp, rsp` links the frame record; "
            "loses it at leaf+0xc: `pop rbp` unlinks the frame record",
        ),
        (
            "leaf_call",
            "arm64",
            "stack_scan",
            "sees leaf's caller from leaf+0x4 on: `stp x29, x30, [sp, #-0x10]!` stores the return address; "
            "loses it at leaf+0x14: `ldp x29, x30, [sp], #0x10` takes the return address off the stack",
        ),
        ("leaf_call", "arm64", "qi_stack_frame", f"{HEAR}the pointer 0x7ffffffeffc0 leads to middle+0x10 (leaf"),
        ("leaf_no_frame", "arm32", "fp_chain", "never sees leaf's caller: r11 leads to _start+0x10 (main"),
        ("no_table", "x86_64", "eh_frame", "never sees"),
    ],
)
def test_the_sentence(program: str, arch: str, strategy: str, sentence: str) -> None:
    run, *_ = judged(program, arch, "keystone")
    said = strategy_sentence(run, judge_all(run, UNWINDERS[strategy]))
    assert said.startswith(sentence)
    assert said == sentence or ";" not in sentence  # those that are written out here are whole


CHANGE = re.compile(r"\b(sees|loses) (?:it|\S+'s caller) (?:from|at) (\S+?)(?: on\b|,|:)")


@pytest.mark.parametrize(("program", "arch"), [("leaf_no_frame", "arm64"), ("callee_saved", "x86_64")])
def test_every_change_that_is_told_is_one(program: str, arch: str) -> None:
    """At each place that a sentence names, the innermost frame's caller is found at some visit, or lost at some."""
    run, *_ = judged(program, arch)
    told = 0
    for unwinder in UNWINDERS.values():
        if unwinder.applies_to(run.built.image):
            verdicts = judge_all(run, unwinder)
            for kind, where in CHANGE.findall(strategy_sentence(run, verdicts)):
                visits = [k for k in range(len(run)) if run.where(int(run.trace.pc[k])) == where]
                assert (kind == "sees") in [verdicts[k].exact or verdicts[k].frame > 0 for k in visits], unwinder.name
                told += 1
    assert told


def test_the_phases_are_those_of_the_score() -> None:
    run, answers, cells = judged("leaf_call", "arm64", "keystone")
    facts = answer_data(run, answers, cells, {})
    unit = Unit("leaf_call", "arm64", "keystone")
    scored = score_unit(unit, PROGRAMS, [answer.unwinder for answer in answers.each])
    for strategy in facts["strategies"]:
        counts = scored.counts[strategy["name"]]
        for i, here in enumerate(map(counts.within, PHASES)):
            assert strategy["phases"][i] == [here.judged, here.exact, here.stopped, here.lying]
