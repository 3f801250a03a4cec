"""docs/results/names.md: the names of all units, judged, and counted by recipe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import run_unit
from testbed.campaign.names import NameOutcome, judge_names
from testbed.campaign.results import Unit
from testbed.words.errors import ToolchainMissing


@dataclass
class Total:
    """The names of several units: sites by outcome, and the tail calls that were watched."""

    units: int = 0
    tail_calls: int = 0
    outcomes: Counter[NameOutcome] = field(default_factory=Counter)


def judge_all_names(planned: Iterable[Unit]) -> dict[tuple[str, str], Total]:
    """The names of all units, by (architecture, recipe). Units whose tools are missing are left out."""
    totals: dict[tuple[str, str], Total] = {}
    for unit in planned:
        try:
            report = judge_names(run_unit(unit, PROGRAMS))
        except ToolchainMissing:
            continue
        total = totals.setdefault((unit.arch, unit.recipe), Total())
        total.units += 1
        total.tail_calls += report.departures.count
        total.outcomes.update(report.counts)
        total.outcomes.update(verdict.outcome for _, _, verdict in report.declared)
    return totals


COLUMNS = ("architecture", "recipe", "units", "tail calls", *(outcome.label for outcome in NameOutcome))


def total_rows(totals: Mapping[tuple[str, str], Total]) -> Iterator[tuple[str, ...]]:
    """A row per (architecture, recipe), under COLUMNS, and their sum."""
    arches = list(ARCHES)
    named = sorted(totals.items(), key=lambda pair: arches.index(pair[0][0]))
    whole = Total(
        sum(total.units for _, total in named),
        sum(total.tail_calls for _, total in named),
        sum((total.outcomes for _, total in named), Counter()),
    )
    for (arch, recipe), total in [*named, (("all", ""), whole)]:
        numbers = (total.units, total.tail_calls, *(total.outcomes[outcome] for outcome in NameOutcome))
        yield (arch, recipe, *(f"{number:,}" for number in numbers))
