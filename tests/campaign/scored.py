"""Score cards of made-up counts: one unit, 20 sites."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.campaign.known_scores import KnownScores, KnownUnwinder
from testbed.campaign.phase_counts import Miss, PhaseCounts, ScoredUnit
from testbed.campaign.results import Unit
from testbed.campaign.score_card import ScoreCard
from testbed.words.outcome import Outcome

LEAF = Unit("leaf_call", "x86_64", "keystone")
SITES = (2, 2, 10, 2, 4)


def counts(exact: int, stopped: int) -> PhaseCounts:
    """Of 20 sites, the first ones exact, the next ones stopped."""
    kinds = ["exact"] * exact + ["stop"] * stopped + ["lie"] * (20 - exact - stopped)
    split = [[kinds.pop(0) for _ in range(size)] for size in SITES]
    return PhaseCounts(SITES, tuple(p.count("exact") for p in split), tuple(p.count("stop") for p in split))


def card_of(known: Mapping[str, PhaseCounts], **asked: PhaseCounts) -> ScoreCard:
    about = {name: KnownUnwinder(name, "", "", ("x86_64",)) for name in known}
    result = ScoredUnit(LEAF, SITES, asked, {"mine": Miss(3, "main", Outcome.SKIPPED)})
    scores = KnownScores(about, {LEAF: SITES}, {LEAF: known})
    return ScoreCard((result,), tuple(asked), scores, {"leaf_call": frozenset({1, 14})})
