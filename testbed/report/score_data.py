"""A score card as values of JSON: everything by architecture, phase and trap. The page is made of them too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.campaign.score_card import Placed, ScoreCard
from testbed.report import JSON_VERSION
from testbed.truth.phases import Phase
from testbed.verdicts.counts import Counts
from testbed.words.traps import TRAPS

Commands = Mapping[str, str]
"""The options by which the command line is told of each unwinder: ``-u fp_chain``, ``--unwinder-cmd ./mine``."""


def score_data(card: ScoreCard, commands: Commands, *, everything: bool) -> dict[str, Any]:
    """The card as JSON has it."""
    return {
        "schema": JSON_VERSION,
        "units": len(card.judged),
        "sites": sum(sum(result.sites) for result in card.judged),
        "sample": not everything,
        "phases": {phase.value: phase.meaning for phase in Phase},
        "unwinders": [_unwinder(card, name, commands.get(name, "")) for name in card.names],
        "board": {arch: [placed_data(placed) for placed in card.ranking(arch)] for arch in card.arches},
        "known": {k.name: {"summary": k.summary, "tool": k.tool} for k in card.known.known.values()},
        "left_out": [str(unit) for unit in card.changed],
        "skipped": {str(result.unit): result.skipped for result in card.results if result.skipped},
        "failed": {str(result.unit): result.failed for result in card.results if result.failed},
    }


def placed_data(placed: Placed) -> dict[str, Any]:
    """One line of a ranking."""
    return {"name": placed.name, **share_data(placed.share), "place": placed.place, "of": placed.of}


def share_data(share: Counts) -> dict[str, Any]:
    return {
        "sites": share.judged,
        "exact": share.exact,
        "stopped": share.stopped,
        "lying": share.lying,
        "points": round(share.points, 1),
    }


def miss_command(card: ScoreCard, name: str, trap: int, how: str) -> tuple[str, str] | None:
    """The first program of a trap on which somebody is not exact: what happens there, and the command that shows it."""
    found = card.first_miss(name, trap)
    if found is None:
        return None
    unit, miss = found.unit, found.miss
    what = f"{unit.program} on {unit.arch} by {unit.recipe}, step {miss.step} in {miss.where}: {miss.outcome.value}"
    return what, f"testbed run {unit.program} -a {unit.arch} -r {unit.recipe} --at @{miss.step} {how}".rstrip()


def _unwinder(card: ScoreCard, name: str, how: str) -> dict[str, Any]:
    arches = [arch for arch in card.arches if name in card.everybody(arch)]
    return {
        "name": name,
        "overall": share_data(card.overall(name)),
        "crashes_and_hangs": sum(card.counts(name, arch).dead for arch in arches),
        "arches": {arch: _standing(card, name, arch, None) for arch in arches},
        "traps": [_trap(card, name, arches, trap, how) for trap in card.shown_traps()],
    }


def _standing(card: ScoreCard, name: str, arch: str, trap: int | None) -> dict[str, Any] | None:
    """All phases together, and each."""
    whole = card.place(name, arch, trap=trap)
    if whole is None:
        return None
    phases = {}
    for phase in Phase:
        if card.counts(name, arch, trap, phase).judged and (placed := card.place(name, arch, phase=phase, trap=trap)):
            phases[phase.value] = placed_data(placed)
    return {**placed_data(whole), "phases": phases}


def _trap(card: ScoreCard, name: str, arches: list[str], trap: int, how: str) -> dict[str, Any]:
    first = miss_command(card, name, trap, how)
    return {
        "trap": trap,
        "meaning": TRAPS[trap],
        "arches": {arch: said for arch in arches if (said := _standing(card, name, arch, trap))},
        **({"first": first[0], "command": first[1]} if first else {}),
    }
