"""Units judged at a sample of instructions, and what real unwinders said kept apart from how it is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.campaign.kept_answers import ANSWERS, KeptAnswer, answer_of, answers_at, kept_answer
from testbed.campaign.results import Unit
from testbed.campaign.sampled import cell_at, judge_unit_sample, sampled_steps
from testbed.campaign.units import run_unit
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.store.codec import NotDecoded
from testbed.trace import Snapshot
from testbed.words.errors import ToolCrashed, UnreadableMemory
from unwinders import UNWINDERS

UNIT = Unit("longjmp", "arm64", "keystone")


@pytest.fixture(scope="module")
def run() -> Run:
    return run_unit(UNIT, PROGRAMS)


class Tool:
    """A real unwinder that counts how often it is asked: our own rows under the name of one."""

    def __init__(self, version: str = "1") -> None:
        self.asked, self.version = 0, version

    def unwind(self, snapshot: Snapshot) -> Backtrace:
        self.asked += 1
        return UNWINDERS["fp_chain"].unwind(snapshot)

    @property
    def unwinder(self) -> Unwinder:
        assumption = UNWINDERS["fp_chain"].assumption
        return Unwinder(name="libdw", summary="", unwind=self.unwind, assumption=assumption, tool=lambda: self.version)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))


def test_a_sample_is_first_visits_and_a_larger_one_has_the_smaller_in_it(run: Run) -> None:
    few, more, every = (sampled_steps(run, most) for most in (4, 9, 1000))
    assert len(few) == 4 and set(few) < set(more) < set(every)
    pcs = [int(run.trace.pc[step]) for step in every]
    assert len(set(pcs)) == len(pcs)
    plain = [step for step in range(len(run)) if not run.watched.transition[step]]
    assert set(pcs) == {int(run.trace.pc[step]) for step in plain}
    assert all(min(step for step in plain if run.trace.pc[step] == run.trace.pc[at]) == at for at in every)


def test_a_tool_is_asked_once_and_its_answers_are_judged_anew(run: Run) -> None:
    tool, steps = Tool(), sampled_steps(run, 12)
    first = cell_at(run, tool.unwinder, steps)
    assert tool.asked == 12 and first.lying and not first.unexplained
    bare = cell_at(run, replace(tool.unwinder, assumption=None), steps)
    assert tool.asked == 12 and 0 < bare.unexplained == first.lying <= first.foretold
    assert answers_at(run, tool.unwinder, steps[:5]) == {s: tool.unwind(run[s]) for s in steps[:5]}


def test_what_changes_an_answer_asks_again(run: Run) -> None:
    steps = sampled_steps(run, 3)
    answers_at(run, Tool().unwinder, steps)
    newer = Tool("2")
    answers_at(run, newer.unwinder, steps)
    assert newer.asked == 3
    other_seed = run_unit(replace(UNIT, recipe="clang-asm"), PROGRAMS)
    asked = Tool("2")
    answers_at(other_seed, asked.unwinder, sampled_steps(other_seed, 3))
    assert asked.asked == 3


def test_a_damaged_file_holds_nothing(run: Run) -> None:
    steps = sampled_steps(run, 3)
    answers_at(run, Tool().unwinder, steps)
    (path,) = ANSWERS.files()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    tool = Tool()
    answers_at(run, tool.unwinder, steps)
    assert tool.asked == 3


def test_a_reason_of_no_class_is_no_answer(run: Run) -> None:
    with pytest.raises(NotDecoded):
        answer_of(KeptAnswer((), ("Path", "/")), run[5])


def test_an_answer_comes_back_as_it_was(run: Run) -> None:
    for said in (
        UNWINDERS["eh_frame"].unwind(run[5]),
        Backtrace(UNWINDERS["eh_frame"].unwind(run[5]).frames[:1], None),
    ):
        assert answer_of(kept_answer(said, run[5]), run[5]) == said
    for stop in (ToolCrashed("it died"), UnreadableMemory(16, 8)):
        said = Backtrace(UNWINDERS["eh_frame"].unwind(run[5]).frames[:2], stop)
        back = answer_of(kept_answer(said, run[5]), run[5])
        assert back.frames == said.frames and type(back.stopped) is type(stop) and str(back.stopped) == str(stop)
        assert judge(run, 5, back).outcome is judge(run, 5, said).outcome


def test_a_unit_that_cannot_be_built_is_its_own_failure() -> None:
    result = judge_unit_sample(Unit("no_such", "arm64", "keystone"), PROGRAMS, [Tool().unwinder], most=2)
    assert result.failed
