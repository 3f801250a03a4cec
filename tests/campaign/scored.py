"""Score cards of made-up counts: one unit, 20 sites."""

from collections import Counter
from collections.abc import Mapping

from testbed.campaign.cells import Unit
from testbed.campaign.score_card import KnownScores, KnownUnwinder, Miss, ScoreCard, ScoredUnit
from testbed.truth.phases import PHASES
from testbed.verdicts.verdict import Counts, SiteKind
from testbed.words.outcome import Outcome

LEAF = Unit("leaf_call", "x86_64", "keystone")
SITES = (2, 2, 10, 2, 4)


def counts(exact: int, stopped: int) -> Counts:
    """Of 20 sites, the first ones exact, the next ones stopped."""
    outcomes = [Outcome.EXACT] * exact + [Outcome.STOPPED] * stopped + [Outcome.WRONG] * (20 - exact - stopped)
    phases = [phase for phase, size in zip(PHASES, SITES, strict=True) for _ in range(size)]
    return Counts(Counter(SiteKind(outcome, phase=phase) for outcome, phase in zip(outcomes, phases, strict=True)))


def card_of(known: Mapping[str, Counts], **asked: Counts) -> ScoreCard:
    about = {name: KnownUnwinder(name, "", "", ("x86_64",)) for name in known}
    result = ScoredUnit(LEAF, SITES, asked, {"mine": Miss(3, "main", Outcome.SKIPPED)})
    scores = KnownScores(about, {LEAF: SITES}, {LEAF: known})
    return ScoreCard((result,), tuple(asked), scores, {"leaf_call": frozenset({1, 14})})
