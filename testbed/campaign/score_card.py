"""The score card: how unwinders fare by architecture, phase and trap, beside those that are known.

*Points* are the share of exact sites minus the share of lies, in percent: who says nothing has none, and a lie takes
away what a right answer gives. Who has more points ranks higher; with equal points, who lies less.

Compared are sites that all compared ones were asked at. A unit whose file is not the one that the known were judged on,
as other compilers make, is left out of the card; a known unwinder that was not asked about all units of an architecture
is left out of the comparisons there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from testbed.arch import ARCHES
from testbed.campaign.known_scores import KnownScores
from testbed.campaign.phase_counts import Miss, ScoredUnit
from testbed.campaign.results import Unit
from testbed.truth.phases import Phase
from testbed.verdicts.counts import NOTHING_COUNTED, Counts


@dataclass(frozen=True, slots=True)
class Placed:
    """One line of a comparison: who, what they scored, and the place among so many (1: the best)."""

    name: str
    share: Counts
    place: int
    of: int


@dataclass(frozen=True, slots=True)
class TrapMiss:
    """The first unit that shows a trap and at which an unwinder lies, or at least stops."""

    unit: Unit
    miss: Miss


@dataclass(frozen=True, eq=False)
class ScoreCard:
    """What was judged now, and what is known. ``traps`` are the numbers of those that each program shows.

    ``names`` are the unwinders that were asked for; the others are ``known``.
    """

    results: tuple[ScoredUnit, ...]
    names: tuple[str, ...]
    known: KnownScores
    traps: Mapping[str, frozenset[int]]

    @cached_property
    def judged(self) -> tuple[ScoredUnit, ...]:
        """The units that could be built and run, and are as they were when the known were judged."""
        return tuple(result for result in self._done if self.known.sites.get(result.unit) == result.sites)

    @cached_property
    def changed(self) -> tuple[Unit, ...]:
        """The units that are left out because they are not as they were."""
        return tuple(result.unit for result in self._done if self.known.sites.get(result.unit) != result.sites)

    @property
    def _done(self) -> list[ScoredUnit]:
        return [result for result in self.results if not result.skipped and not result.failed]

    @cached_property
    def arches(self) -> tuple[str, ...]:
        there = {result.unit.arch for result in self.judged}
        return tuple(name for name in ARCHES if name in there)

    @cache  # noqa: B019 - a card lives as long as the command that shows it
    def everybody(self, arch: str) -> tuple[str, ...]:
        """Who is compared on an architecture: those asked for, then the known that were asked at all its sites.

        A known one that has said nothing there is left out: it reads another format than there is.
        """
        units = self._units(arch)
        asked = (name for name in self.names if any(name in result.counts for result in units))
        others = (name for name in self.known.known if name not in self.names)
        return (*asked, *(name for name in others if self._has_spoken(name, units)))

    def _has_spoken(self, name: str, units: Sequence[ScoredUnit]) -> bool:
        """True where a known one was asked about all units, and did not stop everywhere."""
        found = [self.known.of(name, result.unit, result.sites) for result in units]
        return None not in found and any(each is not None and each.stopped != each.judged for each in found)

    @cache  # noqa: B019
    def counts(self, name: str, arch: str, trap: int | None = None, phase: Phase | None = None) -> Counts:
        """What somebody scores on an architecture: on the programs of a trap, or on all; in one phase, or in all."""
        if phase is not None:
            return self.counts(name, arch, trap).within(phase)
        total = NOTHING_COUNTED
        for result in self._units(arch):
            if trap is None or trap in self.traps[result.unit.program]:
                found = result.counts.get(name) or self.known.of(name, result.unit, result.sites)
                assert found is not None, f"{name} was not asked about {result.unit}"  # see everybody
                total += found
        return total

    def ranking(self, arch: str, *, phase: Phase | None = None, trap: int | None = None) -> tuple[Placed, ...]:
        """Everybody on an architecture, best first; in one phase, on the programs of one trap, or on all."""
        found = {name: self.counts(name, arch, trap, phase) for name in self.everybody(arch)}
        if not any(share.sites for share in found.values()):
            return ()
        order = sorted(found, key=lambda name: (-found[name].points, found[name].lying))
        equal = [(found[name].points, found[name].lying) for name in order]
        return tuple(Placed(name, found[name], equal.index(equal[i]) + 1, len(order)) for i, name in enumerate(order))

    def place(self, name: str, arch: str, *, phase: Phase | None = None, trap: int | None = None) -> Placed | None:
        """Where somebody stands in a ranking; None where there are no sites."""
        return next((each for each in self.ranking(arch, phase=phase, trap=trap) if each.name == name), None)

    def shown_traps(self) -> Sequence[int]:
        """The traps that some judged unit shows."""
        return sorted(set().union(*(self.traps[result.unit.program] for result in self.judged)))

    def first_miss(self, name: str, trap: int) -> TrapMiss | None:
        """The first program of a trap on which somebody lies, else stops; None where it is exact throughout."""
        shown = [result for result in self.judged if trap in self.traps[result.unit.program]]
        for kind in ("lies", "stops"):
            for result in shown:
                misses: Mapping[str, Miss] = getattr(result, kind)
                if name in misses:
                    return TrapMiss(result.unit, misses[name])
        return None

    def _units(self, arch: str) -> list[ScoredUnit]:
        return [result for result in self.judged if result.unit.arch == arch]

    def overall(self, name: str) -> Counts:
        """All sites of all architectures at which somebody was asked."""
        total = NOTHING_COUNTED
        for arch in self.arches:
            if name in self.everybody(arch):
                total += self.counts(name, arch)
        return total
