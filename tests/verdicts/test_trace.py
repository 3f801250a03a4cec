"""Judging a whole trace in columns: the same verdicts, at every site, as one backtrace after the other."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.contract.native import ROOT, STOPPED
from testbed.contract.unwinder import Unwinder
from testbed.runs.run import Run, judge_all, run_program
from testbed.truth.phases import phases
from testbed.verdicts.accord import Accord
from testbed.verdicts.counts import ACCORDS, OUTCOMES
from testbed.verdicts.one import counted
from testbed.verdicts.trace import Verdicts, clause_names, judge_trace
from testbed.words.errors import ToolchainMissing
from testbed.words.outcome import Outcome
from tests.corpus import UNITS
from unwinders import UNWINDERS

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
