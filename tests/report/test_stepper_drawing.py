"""The stepper draws what Python draws: the same columns, words of the stack, frames and changed registers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.campaign.results import Unit
from testbed.campaign.score_card import score_unit
from testbed.naming.beside import beside
from testbed.report.answers import NOTHING
from testbed.report.page import packed, unpacked
from testbed.report.stack_drawing import changed_registers, draw_stack
from testbed.report.stepper import answer_data, stepper_data, strategy_sentence, write_stepper
from testbed.runs.judging import judge_all
from testbed.truth.phases import PHASES
from tests.report.chromium import opened
from tests.report.judged import judged
from unwinders import UNWINDERS


def test_packed_columns_come_back() -> None:
    facts, columns = stepper_data(*judged("leaf_call", "arm64", "keystone"))
    again, back = unpacked(packed(facts, columns))
    assert again == facts
    assert {name: column.tolist() for name, column in back.items()} == {
        name: column.tolist() for name, column in columns.items()
    }


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [
        ("callee_saved", "arm64", "keystone"),
        ("callee_saved", "x86_64", "keystone"),
        ("callee_saved", "arm32", "keystone-thumb"),
        ("alloca_vla", "x86_64", "clang-O2"),
        ("leaf_no_frame", "x86_64", "keystone"),
        ("inline_chain", "x86_64", "clang-O2"),
        ("signal_nested", "arm64", "clang-asm"),
        ("signal_alternate", "x86_64", "keystone"),
        ("signal_bare", "x86_64", "keystone"),
    ],
)
def test_the_page_draws_what_python_draws(tmp_path: Path, program: str, arch: str, recipe: str) -> None:
    run, answers, cells = judged(program, arch, recipe, tuple(UNWINDERS))
    path = tmp_path / "page.html"
    write_stepper(run, answers, cells, path)
    steps = list(range(len(run))) if len(run) < 200 else list(range(0, len(run), len(run) // 150))
    with opened(path) as page:
        drawn = page.evaluate(
            """(steps) => steps.map((step) => ({
              words: stepper.model.stackAt(step).words.map((w) =>
                [w.address, w.kind, w.written, stepper.model.wordLabel(w), w.marks]),
              truth: stepper.model.truthAt(step).map((f) => [f.pc, f.name, f.inlined]),
              said: stepper.model.facts.strategies.map((_, i) => stepper.model.saidAt(i, step).frames.map((f) => f.pc)),
              aligned: stepper.model.facts.strategies.map((_, i) => {
                const { at, extra, end } = stepper.model.alignedAt(i, step), out = [];
                for (let level = 0; level <= end; level++) {
                  out.push(...(extra.get(level) ?? []).map((f) => [null, f.pc]));
                  if (level < end) out.push([level, at[level] && at[level].pc]);
                }
                return out; }),
              changed: stepper.model.changedAt(step).map((i) => stepper.model.names[i]),
            }))""",
            steps,
        )
    for step, shown in zip(steps, drawn, strict=True):
        words = [
            [w.address, w.kind.name, -1 if w.written is None else w.written, w.label, list(w.marks)]
            for w in draw_stack(run, step).words
        ]
        assert shown["words"] == words, step
        assert shown["truth"] == [
            [frame.pc, run.place(frame), [call.function for call in run.calls(frame)[:-1]]]
            for frame in run.truth(step).frames
        ]
        assert set(shown["changed"]) - {run.arch.pc} == {name for name, _, _ in changed_registers(run, step)}
        for each, said in zip(answers.each, shown["said"], strict=True):
            claimed = [frame.pc for frame in each.unwinder.unwind(run[step]).frames]
            assert said == claimed
        for each, aligned in zip(answers.each, shown["aligned"], strict=True):
            assert aligned == placed(run.truth(step).pcs, [f.pc for f in each.unwinder.unwind(run[step]).frames]), step
            assert int(each.callers[step]) != NOTHING


def placed(true: Sequence[int], said: Sequence[int]) -> list[list[int | None]]:
    """Each frame as its level in the truth, or None, and the pc that was said there, or None."""
    return [[each.true, None if each.said is None else said[each.said]] for each in beside(true, said)]


# A strategy's sentence names the instruction that changed what it sees, and what that instruction did.

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
