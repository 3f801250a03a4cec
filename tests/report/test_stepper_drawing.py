"""The stepper draws what Python draws: the same columns, words of the stack, frames and changed registers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from testbed.naming.beside import beside
from testbed.report.answers import NOTHING
from testbed.report.page import packed, unpacked
from testbed.report.stack_drawing import changed_registers, draw_stack
from testbed.report.stepper import stepper_data, write_stepper
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
