"""Unwinders that are asked at some steps, what they said first, and those that lie."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import Cell, Unit, cell_of, cell_of_long, run_unit
from testbed.campaign.kept_results import ANSWERS, KeptAnswer, answer_of, answers_at, kept_answer
from testbed.campaign.version_history import cell_at, judge_unit_sample, sampled_steps
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, HeldTo, Unwinder
from testbed.report.answers import answers_of
from testbed.runs.long import judge_long, watch_long
from testbed.runs.run import Run, judge, judge_all
from testbed.store.codec import NotDecoded
from testbed.trace import Snapshot
from testbed.verdicts.verdict import Accord
from testbed.words.errors import ToolchainMissing, ToolCrashed, ToolHung, UnreadableMemory
from testbed.words.outcome import Outcome
from tests.corpus import ran
from tests.verdicts.liars import (
    always_root,
    forgets_the_root,
    goes_on_behind_the_root,
    invents_a_frame,
    off_by_one_word,
    refuses,
    says_nothing,
    skips_a_caller,
    wrong_cfa,
)
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


@pytest.mark.usefixtures("own_cache")
def test_a_sample_is_first_visits_and_a_larger_one_has_the_smaller_in_it(run: Run) -> None:
    few, more, every = (sampled_steps(run, most) for most in (4, 9, 1000))
    assert len(few) == 4 and set(few) < set(more) < set(every)
    pcs = [int(run.trace.pc[step]) for step in every]
    assert len(set(pcs)) == len(pcs)
    plain = [step for step in range(len(run)) if not run.watched.transition[step]]
    assert set(pcs) == {int(run.trace.pc[step]) for step in plain}
    assert all(min(step for step in plain if run.trace.pc[step] == run.trace.pc[at]) == at for at in every)


@pytest.mark.usefixtures("own_cache")
def test_a_tool_is_asked_once_and_its_answers_are_judged_anew(run: Run) -> None:
    tool, steps = Tool(), sampled_steps(run, 12)
    first = cell_at(run, tool.unwinder, steps)
    assert tool.asked == 12 and first.lying and not first.unexplained
    bare = cell_at(run, replace(tool.unwinder, assumption=None), steps)
    assert tool.asked == 12 and 0 < bare.unexplained == first.lying <= first.foretold
    assert answers_at(run, tool.unwinder, steps[:5]) == {s: tool.unwind(run[s]) for s in steps[:5]}


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("what", ["another version", "another run", "a damaged file"])
def test_what_changes_an_answer_asks_again(run: Run, what: str) -> None:
    answers_at(run, Tool().unwinder, sampled_steps(run, 3))
    tool = Tool("2" if what == "another version" else "1")
    if what == "another run":
        run = run_unit(replace(UNIT, recipe="clang-asm"), PROGRAMS)
    elif what == "a damaged file":
        (path,) = ANSWERS.files()
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    answers_at(run, tool.unwinder, sampled_steps(run, 3))
    assert tool.asked == 3


@pytest.mark.usefixtures("own_cache")
def test_a_reason_of_no_class_is_no_answer(run: Run) -> None:
    with pytest.raises(NotDecoded):
        answer_of(KeptAnswer((), ("Path", "/")), run[5])


@pytest.mark.usefixtures("own_cache")
def test_an_answer_comes_back_as_it_was(run: Run) -> None:
    whole = UNWINDERS["eh_frame"].unwind(run[5])
    stops = (None, ToolCrashed("it died"), UnreadableMemory(16, 8))
    for said in (whole, *(Backtrace(whole.frames[:2], stop) for stop in stops)):
        back = answer_of(kept_answer(said, run[5]), run[5])
        assert back.frames == said.frames and type(back.stopped) is type(said.stopped)
        assert str(back.stopped) == str(said.stopped)
        assert judge(run, 5, back).outcome is judge(run, 5, said).outcome


@pytest.mark.usefixtures("own_cache")
def test_a_unit_that_cannot_be_built_is_its_own_failure() -> None:
    result = judge_unit_sample(Unit("no_such", "arm64", "keystone"), PROGRAMS, [Tool().unwinder], most=2)
    assert result.failed


# The first difference is told of what was said when it was judged: asked again, a program may say another thing.


def lies_and_hangs() -> Unwinder:
    """It claims the root at the first steps that it is asked of, and then gives no answer any more."""
    asked: list[Snapshot] = []

    def unwind(at: Snapshot) -> Backtrace:
        asked.append(at)
        frame = Frame(FrameKind.INTERRUPTED, at.pc, at.registers, found_by="registers")
        stop = None if len(asked) <= 5 else ToolHung("gave no answer")
        return Backtrace((frame,), stop, at.images)

    return Unwinder(name="mine", summary="", unwind=unwind)


def at_once(unwinder: Unwinder) -> Cell:
    return cell_of(ran("leaf_call", "arm64"), unwinder, judge_all(ran("leaf_call", "arm64"), unwinder))


def for_a_page(unwinder: Unwinder) -> Cell:
    (answers,) = answers_of(ran("leaf_call", "arm64"), [unwinder]).each
    return cell_of(ran("leaf_call", "arm64"), unwinder, answers.verdicts)


def in_pieces(unwinder: Unwinder) -> Cell:
    long = watch_long(ran("leaf_call", "arm64").built, budget=1_000_000, chunk=16)
    return cell_of_long(long, unwinder, judge_long(long, [unwinder])[0])


@pytest.mark.parametrize("counted", [at_once, for_a_page, in_pieces])
def test_the_first_lie_is_told_as_it_was_judged(counted: Callable[[Unwinder], Cell]) -> None:
    cell = counted(lies_and_hangs())
    assert cell.outcomes[Outcome.ENDED_EARLY] and cell.outcomes[Outcome.HUNG]
    assert cell.first_lie is not None and cell.first_unexplained is not None
    for first in (cell.first_lie, cell.first_unexplained):
        assert first.outcome is Outcome.ENDED_EARLY
        assert "claims the root: ended early" in first.seen


# Deliberate liars on top of every unwinder's right answers: each lie is noticed.


LIARS = (
    *(always_root, skips_a_caller, invents_a_frame, goes_on_behind_the_root, off_by_one_word, wrong_cfa),
    *(forgets_the_root, refuses, says_nothing),
)
ASSUMED = [name for name, unwinder in UNWINDERS.items() if unwinder.held_to is HeldTo.ASSUMPTION]


@pytest.mark.parametrize("name", ASSUMED)
def test_a_liar_on_top_of_a_right_answer_is_noticed(name: str) -> None:
    """At sites where the unwinder tells the whole truth; being right without the assumption is hardly ever seen."""
    unwinder, right, luck = UNWINDERS[name], 0, 0
    for arch in ARCHES:
        for run in runs(arch):
            if not unwinder.applies_to(run.built.image):
                continue
            for step in range(0, len(run), 9):
                said = unwinder.unwind(run[step])
                verdict = judge(run, step, said, unwinder)
                if verdict.transition or not verdict.exact or len(said.frames) < 2:
                    continue
                right, luck = right + 1, luck + (verdict.accord is Accord.LUCK)
                for liar in LIARS:
                    lie = judge(run, step, liar(said), unwinder)
                    assert not lie.exact, liar.__name__
                    assert lie.unexplained or verdict.accord is Accord.LUCK, f"{liar.__name__}: {run}, step {step}"
    assert luck <= right / 50, f"of {right} right answers {luck} are luck"


# Runs from all over the matrix, to tell lies at.


# From all over the matrix, at most 1,000 steps each; by name, so that one more program does not change the measure.
SAMPLE = {
    "x86_64": (
        *("alloca_vla clang-O2-fp", "big_frame clang-O1-fp", "busy_leaf clang-O2-fp", "cxx_cleanups eh-Os"),
        *("end_zero keystone", "function_pointers clang-O2-cet", "inlined_call clang-O2-fp", "longjmp clang-asm"),
        "mutual_recursion gcc-O0-fp",
    ),
    "arm64": (
        *("alloca_vla clang-O2-fp", "big_frame clang-O1-fp", "busy_leaf clang-O2-scs", "cxx_names gcc-O2"),
        *("function_pointers clang-O0-fp", "index_exchanged keystone", "late_push clang-asm"),
        *("mutual_recursion clang-Oz-sync", "noreturn_last_call clang-O1-fp"),
    ),
    "arm32": (
        *("alloca_vla clang-O2-fp", "big_frame clang-Os-fp", "callee_saved gcc-asm-thumb"),
        *("early_return keystone-thumb", "epilogue_cfa_wrong gcc-asm", "inline_chain clang-O0"),
        *("landing_pad clang-asm", "mutual_recursion clang-O1-fp", "no_symbol keystone"),
    ),
}


@cache
def runs(arch: str) -> tuple[Run, ...]:
    found = []
    for program, recipe in (name.split() for name in SAMPLE[arch]):
        try:
            found.append(run_unit(Unit(program, arch, recipe), PROGRAMS))
        except ToolchainMissing:
            continue
    return tuple(found)
