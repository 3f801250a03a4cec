"""Judging a whole trace in columns: the same verdicts, at every site, as one backtrace after the other."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import units
from testbed.contract.backtraces import Backtraces
from testbed.contract.native import ROOT, STOPPED
from testbed.contract.unwinder import Unwinder
from testbed.native.compiled import native
from testbed.runs.judging import judge_all
from testbed.runs.run import Run, run_program
from testbed.truth.phases import phases
from testbed.verdicts import trace
from testbed.verdicts.counts import ACCORDS, OUTCOMES, Callers
from testbed.verdicts.one import counted, judge_backtrace
from testbed.verdicts.trace import Verdicts, clause_names, judge_trace
from testbed.words.errors import NoUnwindInfo, ToolchainMissing
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
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
        if not run.in_columns:  # a signal, or a place that the header says something of: judged step by step
            assert not isinstance(judge_all(run, NATIVE[0], natively=True), Verdicts)
            continue
        for unwinder in NATIVE:
            if unwinder.applies_to(run.built.image):
                outcomes.update(compared(run, unwinder).counts().outcomes)
    assert len(outcomes) >= 3, outcomes
    print(arch, {outcome.value: count for outcome, count in outcomes.items()})


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [("longjmp", "arm64", None), ("recursion", "x86_64", "clang-O2-sync"), ("behind_call", "x86_64", None)],
    ids=["with transitions", "where clauses fail", "where control goes on elsewhere"],
)
def test_on_three_short_runs_the_columns_say_what_the_judge_says(program: str, arch: str, recipe: str | None) -> None:
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    assert run.in_columns
    for unwinder in NATIVE:
        if unwinder.applies_to(run.built.image):
            found = compared(run, unwinder)
            one_by_one = [found[step] for step in range(len(run))]
            assert (found[-1], list(found[2:9:3])) == (one_by_one[-1], one_by_one[2:9:3])
            assert found.counts(3, 9).firsts == counted(one_by_one[3:9]).firsts
            assert unwinder.unwind_trace is not None
            some = judge_trace(run.watched, unwinder.unwind_trace(run.trace), unwinder, steps=(4, 11))
            assert some.callers == counted(one_by_one[4:11]).callers


@pytest.mark.parametrize(
    ("program", "arch", "unwinder"), [("signal_nested", "arm32", "ehabi"), ("signal", "x86_64", "eh_frame")]
)
def test_beside_a_signal_the_columns_say_what_the_judge_says(program: str, arch: str, unwinder: str) -> None:
    """Of an interrupted frame more is judged than of a caller."""
    run, unwind_trace = run_program(PROGRAMS[program], ARCHES[arch]), UNWINDERS[unwinder].unwind_trace
    assert unwind_trace is not None
    said = unwind_trace(run.trace)
    found = judge_trace(run.watched, said, UNWINDERS[unwinder])
    for step in range(len(run)):
        expected = judge_backtrace(run.arch, run.truth(step), said[step])
        assert OUTCOMES[found.outcome[step]] is expected.outcome, f"step {step}: {expected}"
        assert found.frame[step].tolist() == [expected.frame, expected.since], f"step {step}: {expected}"


def test_an_exact_verdict_is_read_from_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run has millions of them: none is judged anew."""
    run, unwinder = run_program(PROGRAMS["recursion"], ARCHES["x86_64"]), UNWINDERS["eh_frame"]
    assert unwinder.unwind_trace is not None
    found = judge_trace(run.watched, unwinder.unwind_trace(run.trace), unwinder)
    expected = [verdict for verdict in found if verdict.outcome is Outcome.EXACT]
    monkeypatch.delattr("testbed.verdicts.trace.judge_backtrace")
    exact = np.flatnonzero(found.outcome == OUTCOMES.index(Outcome.EXACT)).tolist()
    assert len(exact) > 100
    assert [found[step] for step in exact] == expected


@pytest.mark.parametrize("arch", ARCHES)
def test_whatever_an_unwinder_claims_the_columns_judge_it_as_the_judge_does(
    arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No unwinder is wrong in every way: here its answers are spoiled at random; some are judged compiled."""
    run = run_program(PROGRAMS["recursion"], ARCHES[arch])
    unwinder = next(u for u in reversed(NATIVE) if u.applies_to(run.built.image) and u.rows)
    assert unwinder.unwind_trace
    said = unwinder.unwind_trace(run.trace)
    outcomes: Counter[Outcome] = Counter()
    for seed in range(60):
        monkeypatch.setattr(trace, "sooner", lambda kernel, much, when=seed % 3 > 0: native(kernel, when=when))
        spoiled = _spoiled(said, random.Random(seed))
        found, callers = judge_trace(run.watched, spoiled, replace(unwinder, assumption=None)), Callers()
        for step in range(len(run)):
            expected = judge_backtrace(run.arch, run.truth(step), spoiled[step])
            assert OUTCOMES[found.outcome[step]] is expected.outcome, f"seed {seed}, step {step}: {expected}"
            assert found.frame[step].tolist() == [expected.frame, expected.since], (
                f"seed {seed}, step {step}: {expected}"
            )
            callers += Callers() if run.watched.transition[step] else expected.callers
            outcomes[expected.outcome] += 1
        assert found.callers == callers, f"seed {seed}"
    assert set(outcomes) == set(Outcome) - {Outcome.CRASHED, Outcome.HUNG}, outcomes


def _spoiled(said: Backtraces, rng: random.Random) -> Backtraces:
    """Backtraces with a few links, pcs, registers and CFAs changed; no chain becomes a circle."""
    nodes, sites = said.nodes, said.sites
    pc, values, known, cfa, outer = (
        column.copy() for column in (nodes.pc, nodes.values, nodes.known, nodes.cfa, nodes.outer)
    )
    site_outer, site_cfa = sites.outer.copy(), sites.cfa.copy()
    ends = (ROOT, STOPPED)
    for _ in range(rng.randrange(1, 4)):
        node, site = rng.randrange(len(nodes)), rng.randrange(len(sites))
        what = rng.randrange(8)
        if what == 0:
            pc[node] = rng.choice((pc[rng.randrange(len(nodes))], np.uint64(4)))
        elif what == 1:
            register = rng.randrange(values.shape[1])
            values[node, register] += np.uint64(known[node] >> np.uint64(register) & np.uint64(1))
        elif what == 2:
            cfa[node] += np.uint64(8)
        elif what == 3:
            site_cfa[site] += np.uint64(8)
        elif what == 4:
            outer[node] = rng.choice((*ends, *(n for n in range(len(nodes)) if nodes.depth[n] < nodes.depth[node])))
        elif what == 5:
            site_outer[site] = rng.choice((*ends, rng.randrange(len(nodes))))
        elif what == 6:
            site_outer[site] = outer[site_outer[site]] if site_outer[site] >= 0 else ROOT
        else:  # a frame too many: the interrupted one's caller twice
            inner = [n for n in range(len(nodes)) if nodes.depth[n] == nodes.depth[node] + 1]
            site_outer[site] = rng.choice(inner or [node])
    depth, end = nodes.depth.copy(), nodes.end.copy()
    for node in sorted(range(len(nodes)), key=lambda n: int(nodes.depth[n])):
        further = int(outer[node])
        depth[node] = 1 + (depth[further] if further >= 0 else 0)
        end[node] = end[further] if further >= 0 else further
    return replace(
        said,
        sites=replace(sites, outer=site_outer, cfa=site_cfa),
        nodes=replace(nodes, pc=pc, values=values, cfa=cfa, outer=outer, depth=depth, end=end),
        most_frames=rng.choice((1024, 1024, 3)),
        why_stopped=lambda frames, snapshot: NoUnwindInfo("spoiled"),
    )


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
