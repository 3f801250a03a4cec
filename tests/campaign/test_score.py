"""Scores: counts by phase, the file of what is known, ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.score_card import (
    FILE,
    KnownScores,
    KnownUnwinder,
    ScoreCard,
    ScoredUnit,
    all_the_same,
    as_kept,
    known_scores,
    sample_units,
    score_unit,
    traps_of,
    write_known,
)
from testbed.campaign.units import units
from testbed.contract.frames import Backtrace
from testbed.referee import present
from testbed.trace import Snapshot
from testbed.truth.phases import PHASES, Phase
from testbed.words.errors import UsageError
from testbed.words.outcome import Outcome
from testbed.words.traps import TRAPS
from tests.campaign.scored import LEAF, card_of, counts
from tests.installed import installed
from unwinders import UNWINDERS

BARE = Unit("recursion", "x86_64", "clang-O2-bare")


def test_counts_by_phase_are_those_of_the_matrix() -> None:
    scored = score_unit(LEAF, PROGRAMS, [UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]])
    assert sum(scored.sites) == 25
    table = scored.counts["eh_frame"]
    assert [table.within(phase).exact for phase in PHASES] == list(scored.sites)
    chain = scored.counts["fp_chain"]
    assert chain.exact == 16  # as tests/golden has it
    assert chain.within(Phase.PROLOGUE).lying and chain.within(Phase.EPILOGUE).lying
    assert chain.within(Phase.BODY).judged and not chain.within(Phase.BODY).lying
    assert scored.lies["fp_chain"].outcome is Outcome.ENDED_EARLY
    assert "eh_frame" not in scored.lies and "eh_frame" not in scored.stops


def test_a_strategy_without_its_section_stops_everywhere() -> None:
    scored = score_unit(BARE, PROGRAMS, [UNWINDERS["sframe"]])
    assert scored.counts["sframe"] == all_the_same(Outcome.REFUSED, scored.sites)


def test_what_goes_wrong_with_a_unit_is_its_result() -> None:
    def crashes(snapshot: Snapshot) -> Backtrace:
        raise ZeroDivisionError

    broken = replace(UNWINDERS["eh_frame"], unwind=crashes, unwind_trace=None)
    assert "ZeroDivisionError" in score_unit(LEAF, PROGRAMS, [broken]).failed
    with pytest.raises(KeyError):
        score_unit(Unit("nothing", "x86_64", "keystone"), {}, []).counts["eh_frame"]


def test_the_known_scores_are_what_is_judged_today() -> None:
    """A sample of units; all of them: ``testbed score --everything -u '*' --write-known ...``."""
    known = known_scores()
    chosen = [LEAF, Unit("signal", "arm64", "keystone"), Unit("plt", "arm32", "keystone")]
    chosen += [Unit("struct_return", "arm64", "gcc-O2"), Unit("cant_unwind", "arm32", "keystone")]
    for unit in installed(chosen):
        there = [u for u in UNWINDERS.values() if u.arches is None or unit.arch in u.arches]
        scored = score_unit(unit, PROGRAMS, there)
        assert scored.sites == known.sites[unit], unit
        for name, found in scored.counts.items():
            kept = known.of(name, unit, scored.sites)
            assert kept and as_kept(kept) == as_kept(found), f"{name} on {unit}: see docs/your-unwinder.md"


def test_the_known_tools_score_as_they_did() -> None:
    known, tools = known_scores(), present(["libunwind", "libdw"])
    if not tools:
        pytest.skip("needs libunwind8 or libdw1: apt-get install libunwind8 libdw1")
    scored = score_unit(LEAF, PROGRAMS, list(tools.values()))
    for name, tool in tools.items():
        if known.known[name].tool == (tool.tool() if tool.tool else ""):
            kept = known.of(name, LEAF, scored.sites)
            assert kept and as_kept(kept) == as_kept(scored.counts[name])


def test_every_strategy_was_asked_about_the_sample_and_nearly_every_unit() -> None:
    """What is missing is left out of a card, which says so: a new program need not be judged in the same change."""
    known = known_scores()
    assert set(UNWINDERS) <= set(known.known)
    for unit in known.sample:
        everybody = {k.name for k in known.known.values() if unit.arch in k.arches}
        assert everybody == set(known.counts[unit]), unit
    planned = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
    missing = [unit for unit in planned if unit not in known.sites]
    assert len(missing) <= len(planned) / 20, f"{missing[:3]} ...: see docs/your-unwinder.md"
    stale = set(sample_units(PROGRAMS, ARCHES.values())) ^ set(known.sample)
    assert len(stale) <= len(known.sample) / 10, f"{stale}: see docs/your-unwinder.md"


def test_the_sample_has_every_trap_of_every_architecture() -> None:
    for arch in ARCHES.values():
        built = [p for p in PROGRAMS.values() if units([p], [arch], RECIPES.values())]
        shown = set().union(*(traps_of(PROGRAMS[unit.program]) for unit in sample_units(PROGRAMS, [arch])))
        assert shown == set().union(*(traps_of(program) for program in built))
    assert set(TRAPS) == set().union(*(traps_of(p) for p in PROGRAMS.values()))


def test_known_scores_are_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    chain, table = UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]
    write_known([score_unit(LEAF, PROGRAMS, [chain])], [chain], path, None, [LEAF])
    first = known_scores(path)
    known_scores.cache_clear()
    crashing = all_the_same(Outcome.EXACT, (0, 1, 1, 1, 1)) + all_the_same(Outcome.STOPPED, (0, 1, 2, 2, 3))
    crashing += all_the_same(Outcome.CRASHED, (1, 0, 0, 0, 1)) + all_the_same(Outcome.WRONG, (0, 0, 0, 1, 0))
    assert as_kept(crashing) == "0 1 1 1 1/1 1 2 2 4/1 0 0 0 1"
    other = ScoredUnit(BARE, (1, 2, 3, 4, 5), {"eh_frame": crashing})
    write_known([score_unit(LEAF, PROGRAMS, [table]), other], [table], path, first)
    both = known_scores(path)
    assert both.counts[LEAF]["fp_chain"] == first.counts[LEAF]["fp_chain"]
    assert both.counts[LEAF]["eh_frame"] == all_the_same(Outcome.EXACT, both.sites[LEAF])
    assert both.counts[BARE]["eh_frame"] == crashing
    assert both.known["eh_frame"].arches == ("x86_64", "arm64")
    assert both.sample == (LEAF,)
    assert FILE.read_text(encoding="utf-8").startswith('{\n "format": "testbed known scores"')
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    known_scores.cache_clear()
    with pytest.raises(UsageError, match="no testbed known scores of version 1"):
        known_scores(path)


def test_ranks_are_by_exact_minus_lies_and_equals_share_a_place() -> None:
    """Who is known and says nothing at all is not listed."""
    card = card_of(
        {"shy": counts(2, 18), "liar": counts(11, 0), "best": counts(20, 0), "mute": counts(0, 20)}, mine=counts(15, 5)
    )
    ranking = card.ranking("x86_64")
    assert [(placed.name, placed.place, placed.share.points) for placed in ranking] == [
        ("best", 1, 100.0),
        ("mine", 2, 75.0),
        ("shy", 3, 10.0),  # as many points as the liar, and it does not lie
        ("liar", 4, 10.0),
    ]
    assert {placed.of for placed in ranking} == {4}
    twins = card_of({"a": counts(10, 10), "b": counts(10, 10)}, mine=counts(5, 15)).ranking("x86_64")
    assert [placed.place for placed in twins] == [1, 1, 3]


def test_a_card_has_phases_and_traps() -> None:
    card = card_of({"best": counts(20, 0)}, mine=counts(4, 10))
    entry, call = card.place("mine", "x86_64", phase=Phase.ENTRY), card.place("mine", "x86_64", phase=Phase.CALL)
    assert entry is not None and call is not None
    assert (entry.share.exact, entry.place, entry.share.judged) == (2, 1, 2)
    assert (call.share.lying, call.place) == (4, 2)
    assert card.shown_traps() == [1, 14]
    assert card.place("mine", "x86_64", trap=2) is None
    miss = card.first_miss("mine", 1)
    assert miss is not None and (miss.unit, miss.miss.step) == (LEAF, 3)
    assert card.overall("mine").exact == 4


def test_only_those_who_were_asked_at_all_sites_are_compared() -> None:
    card = card_of({"best": counts(20, 0)}, mine=counts(4, 10))
    known = KnownScores(
        card.known.known | {"absent": KnownUnwinder("absent", "", "", ("x86_64",))}, card.known.sites, card.known.counts
    )
    assert [p.name for p in replace_known(card, known).ranking("x86_64")] == ["best", "mine"]
    changed = KnownScores(known.known, {LEAF: (1, 1, 1, 1, 1)}, known.counts)
    assert replace_known(card, changed).judged == ()
    assert replace_known(card, changed).changed == (LEAF,)


def replace_known(card: ScoreCard, known: KnownScores) -> ScoreCard:
    return ScoreCard(card.results, card.names, known, card.traps)
