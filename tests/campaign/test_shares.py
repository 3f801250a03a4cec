"""How much limits would hide: made-up lies at every frame of every site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.shares import (
    ASKED_AT,
    MOST,
    OVER,
    ROW_IN_FRONT,
    TABLES,
    TOOLS_WITH_TABLES,
    Share,
    asked_steps,
    frame_levels,
    goal_of,
    measured_units,
    reads_mach_o_alone,
    shares,
    told,
)
from testbed.campaign.units import one_of_each, units
from testbed.referee import REFEREES
from testbed.runs.judging import judge_all
from testbed.runs.run import Run, run_program
from testbed.truth.columns import COLUMNS, trait_at
from testbed.truth.frame_sites import frame_sites
from testbed.verdicts.comparing import outermost_wrong
from testbed.verdicts.trace import FrameTraits
from testbed.words.outcome import Outcome
from testbed.words.traits import NARROWED, Trait
from tests.campaign.shared_runs import runs
from unwinders import UNWINDERS

NEARLY_EVERYWHERE = 0.5


@cache
def share(arch: str, name: str) -> Share:
    """Of limits alone: a real unwinder need not be installed for that."""
    unwinder = UNWINDERS[name] if name in UNWINDERS else _TOOLS[name]
    each = [shares(run, (unwinder,)).get(name, Share()) for run in runs(arch)]
    return sum(each, Share())


_TOOLS = {unwinder.name: unwinder for referee in REFEREES.values() for unwinder in referee.unwinders}


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", [*TABLES, *TOOLS_WITH_TABLES])
def test_what_believes_tables_hides_next_to_nothing(name: str, arch: str) -> None:
    found = share(arch, name)
    print(f"{name} {arch}: {found.of_plain}")
    assert found.of_plain is None or found.of_plain <= MOST, found


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
@pytest.mark.parametrize("name", ROW_IN_FRONT)
def test_what_takes_the_row_in_front_has_limits_near_where_it_is_wrong(name: str, arch: str) -> None:
    """It lies at 18 and 12 % of the sites asked (docs/limits.md); another strategy measures its tables."""
    found = share(arch, name)
    print(f"{name} {arch}: {found.of_plain}")
    assert found.of_plain is not None
    assert found.of_plain <= 0.15, found
    assert ROW_IN_FRONT[name] in TOOLS_WITH_TABLES and name not in TOOLS_WITH_TABLES
    assert found.of_plain > (share(arch, ROW_IN_FRONT[name]).of_plain or 0)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", [name for name in UNWINDERS if name not in TABLES])
def test_what_is_wrong_by_design_has_limits_where_it_is_wrong(name: str, arch: str) -> None:
    """At most ten points of the sites more than those at which it lies or gives up."""
    unwinder, found = UNWINDERS[name], Share()
    for run in runs(arch):
        if unwinder.applies_to(run.built.image):
            found += told(run, unwinder, frame_levels(run))
    if found.judged:
        assert found.width is not None
        assert found.not_right is not None
        print(f"{name} {arch}: {found.width:.1%} named, {found.of_judged:.1%} lies, {found.not_right:.1%} not right")
        assert found.width <= found.not_right + OVER, found
        assert goal_of(name, found).startswith("reached")


@pytest.mark.parametrize(("arch", "most"), [("x86_64", 0.04), ("arm64", 0.21), ("arm32", 0.30)])
def test_what_follows_instructions_has_limits_where_it_loses_them(arch: str, most: float) -> None:
    """LLDB without tables, which is wrong at about a sixth of the sites (docs/limits.md); 81, 56 and 58 % once."""
    found = share(arch, "lldb_no_tables")
    print(f"lldb_no_tables {arch}: {found.of_plain}")
    assert found.of_plain is not None
    assert found.of_plain <= most, found


@pytest.mark.parametrize("arch", ARCHES)
def test_what_holds_nearly_everywhere_explains_no_lie(arch: str) -> None:
    """By itself: together with another trait it may be rare."""
    held: Counter[Trait] = Counter()
    sites = 0
    wanted = {
        limit.trait
        for unwinder in UNWINDERS.values()
        for limit in unwinder.limits_on(ARCHES[arch])
        if any(outcome.lying for outcome in limit.outcomes) and unwinder.name not in WRONG_EVERYWHERE
        if not limit.also and not limit.trait.declared
    }
    for run in runs(arch):
        steps = np.arange(len(run))
        at = frame_sites(run.trace, run.watched.activations, run.watched.node, steps, np.zeros_like(steps))
        traits = FrameTraits(run.watched, at, frozenset())
        sites += len(run)
        for trait in wanted:
            held[trait] += int(traits.at(trait).sum())
    assert sites > 500
    everywhere = {trait: count / sites for trait, count in held.items() if count / sites > NEARLY_EVERYWHERE}
    assert not everywhere


# Of instructions, by the header or because a whole recipe writes no table. The others are wide within their programs,
# which are few: where another stack begins, what cannot be unwound and what was copied is not told by the trace yet.
OF_INSTRUCTIONS = frozenset({Trait.WRONG_TABLE, Trait.NO_TABLE})
WIDE_IN_FEW = {
    ("glibc_backtrace_fp", Trait.OTHER_STACK),
    *(("prologue_analysis", Trait.OTHER_STACK), ("stack_scan_breakpad", Trait.OTHER_STACK)),
    *(("ehabi", Trait.CANNOT_UNWIND), ("sframe", Trait.REALIGNED)),
}


def test_what_is_declared_of_a_whole_program_explains_no_lie_by_itself() -> None:
    """It holds at the first instruction of `main` as well: another cause would be hidden behind it."""
    wide = {
        (unwinder.name, limit.trait)
        for unwinder in UNWINDERS.values()
        for limit in unwinder.limits
        if any(outcome.lying for outcome in limit.outcomes)
        if all(trait.declared and trait not in NARROWED for trait in (limit.trait, *limit.also))
        if limit.trait not in OF_INSTRUCTIONS
    }
    assert wide == WIDE_IN_FEW


@pytest.mark.parametrize("arch", ARCHES)
def test_a_jump_that_follows_later_does_not_explain_a_record_that_is_not_linked_yet(arch: str) -> None:
    run = run_program(PROGRAMS["landing_pad"], ARCHES[arch], "keystone")
    verdicts = judge_all(run, UNWINDERS["fp_chain"])
    at_main = next(verdict for verdict in verdicts if verdict.outcome.lying)
    assert at_main.explained_by is not None
    assert {"PROLOGUE", "UNLINKED"} <= set(at_main.explained_by.mechanism.split("+"))
    assert "LOST_REGISTER+FP_REUSED" in {v.explained_by.mechanism for v in verdicts if v.explained_by}


@pytest.mark.parametrize("arch", ARCHES)
def test_no_lie_at_a_function_s_first_instruction_is_explained_for_who_has_a_row_there(arch: str) -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES[arch], "keystone")
    for name in ("main", "middle", "leaf"):
        step = run.step_at(name)
        for strategy, hidden in (("fp_chain", True), ("fp_chain_entry", False)):
            limits = UNWINDERS[strategy].limits_on(run.arch)
            lying = [(limit, outcome) for limit in limits for outcome in limit.outcomes if outcome.lying]
            assert any(limit.covers(outcome, 0, _traits(run, step)) for limit, outcome in lying) == hidden, (name, arch)


def test_where_fp_leads_to_no_memory_a_chain_cannot_go_wrong_in_silence() -> None:
    run = run_program(PROGRAMS["callee_saved"], ARCHES["x86_64"], "keystone")
    stops = [step for step, v in enumerate(judge_all(run, UNWINDERS["fp_chain"])) if v.outcome is Outcome.REFUSED]
    assert stops
    for step in stops:
        for limit in UNWINDERS["fp_chain"].limits_on(run.arch):
            covered = {each for each in limit.outcomes if limit.covers(each, 0, _traits(run, step))}
            assert not any(outcome.lying for outcome in covered), (step, limit.mechanism)


# What these take for an answer is wrong at most sites by itself: the last address is lost, or the link register listed.
WRONG_EVERYWHERE = frozenset({"bs_backtrace", "qi_stack_frame", "stack_scan_breakpad"})


@pytest.mark.parametrize("name", ["fp_chain", "perf", "llvm_libunwind"])  # perf's act a frame further out, too
@pytest.mark.parametrize("arch", ARCHES)
def test_a_share_counts_what_a_lie_at_any_frame_would_be_explained_by(arch: str, name: str) -> None:
    """Beside asking each limit at each frame at which its lies can be told, one by one."""
    unwinder = UNWINDERS[name] if name in UNWINDERS else _TOOLS[name]
    run = min(runs(arch), key=len)
    if not unwinder.applies_to(run.built.image):
        pytest.skip("it is not for these files")
    hidden = 0
    for step in range(len(run)):
        root = len(run.truth(step).frames) - 1
        hidden += not run.watched.transition[step] and any(
            limit.covers(outcome, frame, _traits(run, step))
            for limit in unwinder.limits_on(run.arch)
            for outcome in limit.outcomes
            if outcome.lying
            for frame in range(outermost_wrong(outcome, root) + 1)
            if frame - limit.inner <= root
        )
    assert shares(run, (unwinder,))[name].explained == hidden


def test_a_lie_that_no_stack_is_long_enough_for_is_not_explained() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")
    roots = np.array([len(run.truth(step).frames) - 1 for step in range(len(run))])
    everywhere = replace(UNWINDERS["fp_chain"].limits[0], trait=Trait.ROOT, also=frozenset(), arches=None)
    for outcome, further, hidden in (
        (Outcome.PHANTOM, 0, len(run)),  # more frames can be said of any stack
        (Outcome.PHANTOM, 1, 0),  # no frame lies beyond the outermost one
        (Outcome.ENDED_EARLY, 0, 0),  # it ends there
        (Outcome.ENDED_EARLY, -1, int((roots >= 1).sum())),  # one caller is left out of two frames
        (Outcome.SKIPPED, -1, 0),  # the outermost one cannot be left out
        (Outcome.SKIPPED, -2, int((roots >= 2).sum())),
    ):
        limit = replace(everywhere, outcomes=frozenset({outcome}), inner=further)
        assert shares(run, (replace(UNWINDERS["eh_frame"], limits=(limit,)),))["eh_frame"].explained == hidden


def _traits(run: Run, step: int) -> Callable[[int], frozenset[Trait]]:
    return cache(lambda frame: run.frame_traits(step, frame))


def test_every_lie_of_a_strategy_stands_where_its_limits_name_it() -> None:
    run = run_program(PROGRAMS["tail_call"], ARCHES["x86_64"], "keystone")
    levels = frame_levels(run)
    chain, table = (told(run, UNWINDERS[name], levels) for name in ("fp_chain", "eh_frame"))
    assert 0 < chain.told <= chain.failed <= chain.named < chain.judged == len(run)
    assert chain.of_named == chain.told / chain.named
    assert (table.told, table.failed, table.named, table.needless, table.of_named) == (0, 0, 0, 0, None)


def test_a_goal_is_five_percent_of_tables_and_ten_points_over_what_really_is_wrong_of_others() -> None:
    narrow, wide = (Share(sites=100, plain=100, plain_explained=hidden, judged=10, failed=2) for hidden in (5, 6))
    assert goal_of("eh_frame", narrow) == "reached"
    assert goal_of("libdw", wide) == "5 %: not reached, and is not right at 20.0"
    lies, stops = Share(judged=100, told=30, failed=60), Share(judged=100, told=30, failed=60)
    assert goal_of("fp_chain", replace(lies, named=40)) == "reached"
    assert goal_of("fp_chain", replace(stops, named=70)) == "reached, with where it gives up"
    assert goal_of("fp_chain", replace(stops, named=71)) == "40.0 %: not reached"
    assert goal_of("fp_chain", Share()) == ""


def test_a_library_that_is_asked_for_another_row_is_held_to_where_it_is_wrong() -> None:
    at_most = Share(sites=100, plain=100, plain_explained=14, judged=100, told=18, failed=21, named=28)
    assert goal_of("llvm_libunwind", at_most).startswith("reached, as wrong by design")
    assert "`llvm_libunwind_exact`" in goal_of("llvm_libunwind", at_most)
    assert goal_of("llvm_libunwind", replace(at_most, named=32)).startswith("28.0 %: not reached")
    assert goal_of("llvm_libunwind_exact", at_most).startswith("5 %: not reached")
    assert goal_of("llvm_libunwind", Share()) == ""


def test_what_reads_mach_o_alone_is_asked_at_every_instruction_of_every_such_unit() -> None:
    every = units([PROGRAMS["struct_return"]], ARCHES.values(), RECIPES.values())
    chosen = one_of_each(every)
    found = dict(measured_units(every, chosen))
    assert [unit for unit, for_all in found.items() if for_all] == list(chosen)
    of_macho = {unit for unit in every if "macho" in unit.recipe}
    assert len(of_macho) > 3 and {unit for unit, for_all in found.items() if not for_all} == of_macho - set(chosen)
    run = run_program(PROGRAMS["struct_return"], ARCHES["arm64"], "macho-O2")
    alone = {name for name, tool in _TOOLS.items() if reads_mach_o_alone(tool)}
    assert alone == {"llvm_libunwind_compact", "symbolic_compact"}
    assert len(asked_steps(run, _TOOLS["symbolic_compact"])) == len(set(run.trace.pc.tolist())) > ASKED_AT
    assert len(asked_steps(run, _TOOLS["libdw"])) == ASKED_AT


def test_a_site_that_is_named_needlessly_is_one_at_which_the_strategy_is_right() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")
    everywhere = replace(UNWINDERS["fp_chain"].limits[0], trait=Trait.ROOT, also=frozenset(), arches=None)
    always = replace(UNWINDERS["eh_frame"], limits=(replace(everywhere, outcomes=frozenset(Outcome)),))
    found = told(run, always, frame_levels(run))  # every stack has its root
    assert (found.named, found.needless, found.too_wide) == (found.judged, found.judged, 1.0)


def test_every_observed_trait_has_a_rule_and_a_column() -> None:
    observed = {trait for trait in Trait if not trait.declared}
    assert observed == COLUMNS.keys()
    with pytest.raises(KeyError):
        trait_at(runs("x86_64")[0].watched, None, Trait.WRONG_TABLE)  # type: ignore[arg-type]
