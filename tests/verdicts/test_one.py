"""The judge against deliberate liars: every kind of wrong answer gets its own name, and none passes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import testbed
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.contract.assumption import NO_RETURN, REGISTER
from testbed.contract.native import ROOT, STOPPED
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, HeldTo, Unwinder
from testbed.conventions import platform
from testbed.runs.run import Run, judge_all, run_program
from testbed.truth.phases import PHASES, phases
from testbed.verdicts.assumptions.along import Failed, ForetoldEnd, FoundCaller
from testbed.verdicts.trace import Verdicts, clause_names, judge_trace
from testbed.verdicts.verdict import (
    ACCORDS,
    NO_CALLERS,
    NOTHING_COUNTED,
    OUTCOMES,
    Accord,
    Callers,
    Counts,
    SiteKind,
    Verdict,
    accord,
    counted,
    exact_verdict,
    first_answers,
)
from testbed.words.errors import NoUnwindInfo, ToolchainMissing, ToolCrashed, ToolHung, UnwindError
from testbed.words.outcome import Outcome
from tests.corpus import UNITS
from tests.verdicts.liars import (
    always_root,
    forgets_the_root,
    invents_a_frame,
    off_by_one_word,
    refuses,
    repeats_a_frame,
    says_nothing,
    skips_every_other,
    stops_short,
    wrong_cfa,
)
from unwinders import UNWINDERS

AT = "leaf_body"  # inside leaf_call's leaf: four frames deep on every instruction set
TARGETS = [("x86_64", "keystone"), ("arm64", "keystone"), ("arm32", "keystone"), ("arm32", "keystone-thumb")]


@pytest.fixture(params=TARGETS, ids="-".join)
def run(request: pytest.FixtureRequest) -> Run:
    arch, recipe = request.param
    return testbed.run("leaf_call", arch=arch, recipe=recipe)


def honest(run: Run) -> Backtrace:
    """A backtrace that tells the whole truth, registers and CFAs included."""
    frames = tuple(
        Frame(FrameKind.CALLER if i else FrameKind.INTERRUPTED, frame.pc, dict(frame.registers), frame.cfa)
        for i, frame in enumerate(run.truth(run.at(AT)).frames)
    )
    return Backtrace(frames, None)


def verdict(run: Run, said: Backtrace) -> Outcome:
    return testbed.judge(run, run.at(AT), said).outcome


@pytest.mark.parametrize(
    ("lie", "outcome"),
    [
        (always_root, Outcome.ENDED_EARLY),
        (skips_every_other, Outcome.SKIPPED),
        (invents_a_frame, Outcome.PHANTOM),
        (repeats_a_frame, Outcome.PHANTOM),
        (off_by_one_word, Outcome.WRONG),
        (wrong_cfa, Outcome.WRONG_REGISTER),
        (forgets_the_root, Outcome.ENDED_EARLY),
        (stops_short, Outcome.STOPPED),
        (refuses, Outcome.REFUSED),
        (lambda b: replace(b, stopped=NoUnwindInfo("no row")), Outcome.STOPPED),  # never claims the root
        (says_nothing, Outcome.WRONG),
        (lambda b: replace(b, frames=b.frames[1:]), Outcome.WRONG),  # starts elsewhere
    ],
)
def test_each_wrong_answer_has_its_own_name(run: Run, lie: Callable[[Backtrace], Backtrace], outcome: Outcome) -> None:
    said = lie(honest(run))
    assert verdict(run, said) is outcome
    assert outcome is not Outcome.EXACT


def test_the_whole_truth_is_exact(run: Run) -> None:
    assert verdict(run, honest(run)) is Outcome.EXACT
    assert len(run.truth(run.at(AT)).frames) == 4


def test_zero_for_an_unknown_register_is_a_lie_and_leaving_it_out_is_not(run: Run) -> None:
    """ "A register that is missing is unknown": claiming zero for it is what LLVM libunwind does, and a lie."""
    true = honest(run)
    for name in (run.arch.sp, *platform(run.arch).preserved):
        for i in range(1, len(true.frames)):
            frames = list(true.frames)
            if frames[i].registers[name] == 0:
                continue  # the frame pointer of the root really is zero
            frames[i] = replace(frames[i], registers={**frames[i].registers, name: 0})
            assert verdict(run, Backtrace(tuple(frames), None)) is Outcome.WRONG_REGISTER, (name, i)
            without = {k: v for k, v in true.frames[i].registers.items() if k != name}
            frames[i] = replace(true.frames[i], registers=without)
            assert verdict(run, Backtrace(tuple(frames), None)) is Outcome.EXACT, (name, i)


def test_a_wrong_register_is_a_lie_even_before_an_honest_stop(run: Run) -> None:
    true = honest(run)
    bent = replace(true.frames[1], registers={**true.frames[1].registers, run.arch.sp: 8})
    said = Backtrace((true.frames[0], bent), NoUnwindInfo("no row"))
    assert verdict(run, said) is Outcome.WRONG_REGISTER


def test_a_wrong_cfa_of_the_interrupted_frame_is_a_lie_even_where_no_caller_is_said(run: Run) -> None:
    said = refuses(wrong_cfa(honest(run)))
    assert len(said.frames) == 1
    assert verdict(run, said) is Outcome.WRONG_REGISTER


def test_depth_counts_the_frames_that_are_right(run: Run) -> None:
    site = run.at(AT)
    assert testbed.judge(run, site, honest(run)).depth == 4
    assert testbed.judge(run, site, stops_short(honest(run))).depth == 3
    assert testbed.judge(run, site, off_by_one_word(honest(run))).depth == 1
    assert "frame 1" in testbed.judge(run, site, off_by_one_word(honest(run))).difference


CALLER = FoundCaller(4, REGISTER, "a word is")
STOP = ForetoldEnd(NO_RETURN, stops=True)


@pytest.mark.parametrize(
    ("outcome", "frames", "failed", "stands"),
    [
        (Outcome.EXACT, (0,), None, Accord.HOLDS),
        (Outcome.EXACT, (0,), (1, None), Accord.LUCK),
        (Outcome.STOPPED, (1,), None, Accord.UNFOUNDED),
        (Outcome.STOPPED, (0,), (1, STOP), Accord.UNFOUNDED),
        (Outcome.STOPPED, (1, 0), (1, STOP), Accord.FAILS),
        (Outcome.STOPPED, (1,), (1, None), Accord.FAILS),
        (Outcome.STOPPED, (1,), (1, CALLER), Accord.OTHERWISE),
        (Outcome.STOPPED, (2,), (1, STOP), Accord.OTHERWISE),
    ],
)
def test_how_an_answer_stands_to_an_assumption(
    outcome: Outcome,
    frames: tuple[int, ...],
    failed: tuple[int, FoundCaller | ForetoldEnd | None] | None,
    stands: Accord,
) -> None:
    """Two frames and an honest stop, whatever its outcome."""
    said = Backtrace(tuple(Frame(FrameKind.CALLER, pc, {}) for pc in (8, 16)), NoUnwindInfo("no row"))
    where = failed and Failed(failed[0], NO_RETURN, failed[1], {})
    assert accord(HeldTo.ASSUMPTION, outcome, frames, said, where) is stands
    decided = stands in (Accord.HOLDS, Accord.FAILS)
    assert accord(HeldTo.OPEN, outcome, frames, said, where) is (stands if decided else Accord.OPEN)
    assert accord(HeldTo.HONESTY, outcome, frames, said, where) is Accord.HONEST
    assert stands.unexplained == (stands in (Accord.UNFOUNDED, Accord.OTHERWISE))


FOUND = FoundCaller(16, REGISTER, "a word is", {"sp": 64}, 48, kind=FrameKind.CALLER)


@pytest.mark.parametrize(
    ("foretold", "frame", "is_said"),
    [
        (FOUND, 0, True),
        (replace(FOUND, pc=8), 0, False),
        (replace(FOUND, registers={"sp": 65}), 0, False),
        (replace(FOUND, cfa=64), 0, False),
        (replace(FOUND, kind=FrameKind.INTERRUPTED), 0, False),
        (FOUND, 1, False),
        (STOP, 1, True),
        (STOP, 0, False),
        (replace(STOP, stops=False), 1, False),
    ],
)
def test_all_that_is_foretold_must_be_said(foretold: FoundCaller | ForetoldEnd, frame: int, is_said: bool) -> None:
    inner, outer = Frame(FrameKind.INTERRUPTED, 8, {}, 48), Frame(FrameKind.CALLER, 16, {"sp": 64})
    assert foretold.is_said(Backtrace((inner, outer), NoUnwindInfo("no row")), frame) is is_said


@pytest.mark.parametrize("outcome", Outcome)
def test_without_an_assumption_a_lie_or_no_answer_fails_and_of_a_tool_nothing_does(outcome: Outcome) -> None:
    said = Backtrace((), None)
    fails = outcome.lying or outcome in (Outcome.CRASHED, Outcome.HUNG)
    assert accord(HeldTo.HONESTY, outcome, (0,), said, None).unexplained == fails
    assert accord(HeldTo.COUNTS, outcome, (0,), said, None) is Accord.UNCLAIMED
    assert not Accord.UNCLAIMED.unexplained and not Accord.OPEN.unexplained


@pytest.mark.parametrize(
    ("why", "outcome"),
    [(ToolCrashed("it died of SIGSEGV"), Outcome.CRASHED), (ToolHung("no answer in 2 s"), Outcome.HUNG)],
)
def test_a_tool_that_died_or_hung_is_neither_exact_nor_lying_nor_an_honest_stop(
    run: Run, why: UnwindError, outcome: Outcome
) -> None:
    first = honest(run).frames[0]
    said = testbed.judge(run, run.at(AT), Backtrace((first,), why))
    assert said.outcome is outcome
    assert said.unexplained
    assert not outcome.lying
    assert verdict(run, Backtrace((first, Frame(FrameKind.CALLER, 0xDEAD, {})), why)) is Outcome.WRONG


@pytest.mark.parametrize(
    ("answer", "callers"),
    [
        (lambda b: b, Callers(3, 3, 3)),
        (always_root, Callers(0, 3, 0)),
        (skips_every_other, Callers(1, 3, 1)),
        (invents_a_frame, Callers(4, 3, 3)),
        (repeats_a_frame, Callers(4, 3, 3)),
        (off_by_one_word, Callers(3, 3, 0)),
        (wrong_cfa, Callers(3, 3, 3)),
        (stops_short, Callers(2, 3, 2)),
        (refuses, Callers(0, 3, 0)),
        (says_nothing, Callers(0, 3, 0)),
        (lambda b: replace(b, frames=(b.frames[0], *b.frames[:0:-1])), Callers(3, 3, 1)),
        (lambda b: invents_a_frame(replace(b, frames=(*b.frames[:2], b.frames[3]))), Callers(3, 3, 2)),
    ],
)
def test_callers_said_true_and_found(run: Run, answer: Callable[[Backtrace], Backtrace], callers: Callers) -> None:
    """Precision and recall come from these; the interrupted frame counts nowhere."""
    found = testbed.judge(run, run.at(AT), answer(honest(run))).callers
    assert found == callers
    assert found.recall == callers.found / 3
    assert found.precision == (callers.found / callers.said if callers.said else None)


def some_verdicts() -> list[Verdict]:
    """Two exact ones, one in a transition, two that a clause foretells, two that break an assumption."""
    failed = Failed(0, NO_RETURN, None, {})
    return [
        exact_verdict(3),
        Verdict(Outcome.WRONG, 1, transition=True, callers=Callers(9, 9, 9)),
        Verdict(Outcome.SKIPPED, 1, "d", failed, Accord.FAILS, callers=Callers(1, 3, 1)),
        Verdict(Outcome.SKIPPED, 1, "d", failed, Accord.FAILS, callers=Callers(2, 3, 1)),
        Verdict(Outcome.WRONG, 1, accord=Accord.UNFOUNDED, callers=Callers(4, 3, 0)),
        exact_verdict(1),
        Verdict(Outcome.PHANTOM, 1, accord=Accord.DISHONEST, callers=Callers(5, 3, 3)),
    ]


def test_counts_are_of_what_is_no_transition() -> None:
    verdicts = some_verdicts()
    found = counted(verdicts)
    exact, skipped = SiteKind(Outcome.EXACT), SiteKind(Outcome.SKIPPED, Accord.FAILS, NO_RETURN.name)
    wrong, phantom = SiteKind(Outcome.WRONG, Accord.UNFOUNDED), SiteKind(Outcome.PHANTOM, Accord.DISHONEST)
    kinds, firsts = {exact: 2, skipped: 2, wrong: 1, phantom: 1}, {exact: 0, skipped: 2, wrong: 4, phantom: 6}
    callers = Callers(2 + 1 + 2 + 4 + 5, 2 + 3 * 4, 2 + 1 + 1 + 0 + 3)
    assert found == Counts(kinds, firsts, 1, callers)
    assert (found.sites, found.judged, found.exact, found.lying, found.stopped) == (7, 6, 2, 4, 0)
    assert (found.foretold, found.unexplained, found.shown) == (2, 2, {(NO_RETURN.name, Outcome.SKIPPED): 2})
    assert (found.luck, found.open) == (0, 0)
    assert list(found.outcomes.items()) == [(o, n) for o in Outcome for kind, n in kinds.items() if kind.outcome is o]
    assert [found.first_step(lambda kind: kind.lying), found.first_step(lambda kind: kind.unexplained)] == [2, 4]
    assert found.first_step(lambda kind: kind.dead) == -1 and found.points == 100 * (2 - 4) / 6


@pytest.mark.parametrize(
    ("verdict", "whole"),
    [
        (Verdict(Outcome.STOPPED, 4, callers=Callers(3, 3, 3)), True),
        (Verdict(Outcome.STOPPED, 3, callers=Callers(2, 3, 2)), False),
        (Verdict(Outcome.REFUSED, 1, callers=Callers(0, 3, 0)), False),
        (Verdict(Outcome.CRASHED, 4, callers=Callers(3, 3, 3)), False),
        (exact_verdict(4), False),
    ],
)
def test_whole_is_an_honest_stop_behind_the_last_caller(verdict: Verdict, whole: bool) -> None:
    found = counted([verdict], [2], wholes=True)
    assert found.kinds == {SiteKind(verdict.outcome, phase=PHASES[2], whole=whole): 1}
    assert (found.whole, counted([verdict]).whole) == (whole, 0)
    assert (found.stopped, found.dead) == (not verdict.exact, verdict.outcome is Outcome.CRASHED)
    assert (found.within(PHASES[2]).judged, found.within(PHASES[1]).judged) == (1, 0)


def test_parts_of_a_run_counted_together_are_the_whole_counted() -> None:
    verdicts = some_verdicts()
    whole = counted(verdicts)
    for at in range(len(verdicts) + 1):
        assert counted(verdicts[:at]) + counted(verdicts[at:]) == whole, at
    assert NOTHING_COUNTED + NOTHING_COUNTED == NOTHING_COUNTED == counted([])


def test_what_was_said_first_of_each_kind_is_kept() -> None:
    verdicts = some_verdicts()
    answers = [Backtrace((Frame(FrameKind.INTERRUPTED, step, {}),), None) for step in range(len(verdicts))]
    told = list(first_answers(zip(verdicts, answers, strict=True)))
    assert [each.said for each in told] == [None, None, answers[2], None, answers[4], None, answers[6]]


def test_a_verdict_is_exact_unless_told_otherwise_at_frame_0_and_counts_no_callers() -> None:
    verdict = Verdict(Outcome.EXACT, 2)
    assert Callers(0, 0, 0) == NO_CALLERS
    assert verdict == Verdict(Outcome.EXACT, 2, "", None, Accord.HONEST, False, Callers(0, 0, 0), 0, 0)
    assert exact_verdict(4) == Verdict(Outcome.EXACT, 4, callers=Callers(3, 3, 3))
    assert verdict.exact and not verdict.unexplained and str(verdict) == "exact"
    assert NO_CALLERS.recall is None and NO_CALLERS.precision is None


# Judging a whole trace in columns: the same verdicts, at every site, as one backtrace after the other.

PART = 17  # of this many units, one is compared unless all are asked for
NATIVE = [unwinder for unwinder in UNWINDERS.values() if unwinder.unwind_trace]


def compared(run: Run, unwinder: Unwinder) -> Verdicts:
    """The verdicts in columns, after each was compared with the one that `testbed.judge` gives."""
    found = judge_all(run, unwinder, natively=True)
    assert isinstance(found, Verdicts)
    expected = judge_all(run, unwinder, natively=False)
    assert len(found) == len(expected) == len(run)
    for step, verdict in enumerate(expected):
        where = f"{run}, {unwinder.name}, step {step}: {verdict}"
        assert OUTCOMES[found.outcome[step]] is verdict.outcome, where
        assert found.frame[step].tolist() == [verdict.frame, verdict.since], where
        assert found.transition[step] == verdict.transition, where
        assert ACCORDS[found.accord[step]] is verdict.accord, where
        assert clause_names(unwinder)[found.clause[step]] == verdict.clause, where
        assert found[step] == verdict, where
    assert found.counts() == counted(expected)
    phase = phases(run.watched)
    assert found.counts(phase=phase) == counted(expected, phase)
    return found


@pytest.mark.parametrize("arch", ARCHES)
def test_at_every_site_the_columns_say_what_the_judge_says(arch: str, request: pytest.FixtureRequest) -> None:
    here = [unit for unit in UNITS if unit.arch == arch]
    outcomes: Counter[Outcome] = Counter()
    for unit in here if request.config.getoption("--everything") else here[3::PART]:
        try:
            run = run_program(PROGRAMS[unit.program], ARCHES[arch], unit.recipe)
        except ToolchainMissing:
            continue
        for unwinder in NATIVE:
            if unwinder.applies_to(run.built.image):
                outcomes.update(compared(run, unwinder).counts().outcomes)
    assert len(outcomes) >= 3, outcomes
    print(arch, {outcome.value: count for outcome, count in outcomes.items()})


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [
        ("longjmp", "arm64", None),
        ("recursion", "x86_64", "clang-O2-sync"),
        ("behind_call", "x86_64", None),
        ("signal_nested", "arm32", None),
    ],
    ids=["with transitions", "where clauses fail", "where control goes on elsewhere", "beside a signal"],
)
def test_on_short_runs_the_columns_say_what_the_judge_says(program: str, arch: str, recipe: str | None) -> None:
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    for unwinder in NATIVE:
        if unwinder.applies_to(run.built.image):
            found = compared(run, unwinder)
            one_by_one = [found[step] for step in range(len(run))]
            assert (found[-1], list(found[2:9:3])) == (one_by_one[-1], one_by_one[2:9:3])
            assert found.counts(3, 9).firsts == counted(one_by_one[3:9]).firsts
            assert unwinder.unwind_trace is not None
            some = judge_trace(run.watched, unwinder.unwind_trace(run.trace), unwinder, steps=(4, 11))
            assert some.callers == counted(one_by_one[4:11]).callers


def test_an_exact_verdict_is_read_from_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run has millions of them: none is judged anew."""
    run, unwinder = run_program(PROGRAMS["recursion"], ARCHES["x86_64"]), UNWINDERS["eh_frame"]
    assert unwinder.unwind_trace is not None
    found = judge_trace(run.watched, unwinder.unwind_trace(run.trace), unwinder)
    expected = [verdict for verdict in found if verdict.outcome is Outcome.EXACT]
    monkeypatch.delattr("testbed.verdicts.trace.judge_steps")
    exact = np.flatnonzero(found.outcome == OUTCOMES.index(Outcome.EXACT)).tolist()
    assert len(exact) > 100
    assert [found[step] for step in exact] == expected


def test_a_stop_behind_the_last_caller_is_whole_in_columns_too() -> None:
    run = run_program(PROGRAMS["recursion"], ARCHES["x86_64"], "clang-O2")
    unwinder = UNWINDERS["eh_frame"]
    assert unwinder.unwind_trace is not None
    said = unwinder.unwind_trace(run.trace)
    unclaimed = {"end": np.where(said.nodes.end == ROOT, STOPPED, said.nodes.end)}
    unclaimed["outer"] = np.where(said.nodes.outer == ROOT, STOPPED, said.nodes.outer)
    verdicts = judge_trace(run.watched, replace(said, nodes=replace(said.nodes, **unclaimed)), unwinder)
    counts = verdicts.counts(wholes=True)
    assert counts.whole == counts.stopped > 0
    assert judge_trace(run.watched, said, unwinder).counts(wholes=True).whole == 0


def test_an_answer_that_no_register_moves_is_held_to_the_row_at_each_step() -> None:
    """A technique that says behind a push what it said before: its row has not changed, and gives another caller."""
    run = run_program(PROGRAMS["late_push_wrong"], ARCHES["x86_64"], "keystone")
    unwinder, watched = UNWINDERS["eh_frame"], run.watched
    assert unwinder.unwind_trace is not None
    said = unwinder.unwind_trace(run.trace)
    honest = judge_trace(watched, said, unwinder)
    (behind,) = run.steps_in("work_pushed")
    assert watched.node[behind - 1] == watched.node[behind] and honest[behind - 1].accord is Accord.HOLDS
    site = said.site.copy()
    site[behind] = site[behind - 1]
    frozen = judge_trace(watched, replace(said, site=site), unwinder)
    assert (honest[behind].accord, frozen[behind - 1].accord) == (Accord.FAILS, Accord.HOLDS)
    assert frozen[behind].outcome is Outcome.EXACT and frozen[behind].accord is Accord.LUCK
