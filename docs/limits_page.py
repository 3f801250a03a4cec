"""docs/limits.md: what limits would hide, today's and those of before they became mechanisms, at the same sites."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.shares import (
    FrameLevels,
    Share,
    frame_levels,
    goal_of,
    measured_units,
    reads_mach_o_alone,
    shares,
    told,
)
from testbed.campaign.units import one_of_each, run_unit, units
from testbed.referee import REFEREES
from testbed.runs.run import Run
from testbed.truth.frame_traits import OUTER
from testbed.words.errors import ToolchainMissing
from testbed.words.traits import Trait
from unwinders import UNWINDERS

BEFORE = Path(__file__).with_name("limits_before.json")
ByArch = tuple[str, str]  # a strategy, an architecture


def limits_page() -> str:
    """The table of all strategies, of every program in one unit of each architecture; of Mach-O files in all units."""
    everyone = [*UNWINDERS.values(), *(each for referee in REFEREES.values() for each in referee.unwinders)]
    here = {*UNWINDERS, *(u.name for one in REFEREES.values() if one.find() is not None for u in one.unwinders)}
    old = json.loads(BEFORE.read_text(encoding="utf-8"))["limits"]
    now: dict[ByArch, Share] = {}
    before: dict[ByArch, int] = {}
    every = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
    each = one_of_each(every)
    planned = [unit for arch in ARCHES for unit in each if unit.arch == arch]
    for unit, is_for_all in measured_units(every, planned):
        try:
            run = run_unit(unit, PROGRAMS)
        except ToolchainMissing:
            continue
        levels = frame_levels(run)
        asked = everyone if is_for_all else [unwinder for unwinder in everyone if reads_mach_o_alone(unwinder)]
        explained = shares(run, asked, levels)
        for unwinder in asked:
            if share := explained.get(unwinder.name):
                key = unwinder.name, unit.arch
                lies = told(run, unwinder, levels) if unwinder.name in here else Share()
                now[key] = now.get(key, Share()) + share + lies
                before[key] = before.get(key, 0) + _hidden_before(run, levels, old.get(unwinder.name, ()))
    rows = [row for each in everyone for row in _rows(each.name, now, before, set(old))]
    head = (
        "| strategy | | before | now | tables right | asked | lies | not right | of named | goal |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---|"
    )
    sites = sum(now[key].sites for key in now if key[0] == "fp_chain")
    return f"{len(planned)} units, {sites:,} sites.\n\n{head}\n" + "\n".join(rows) + "\n"


def _hidden_before(run: Run, levels: FrameLevels, limits: Sequence[tuple[str, Sequence[str] | None]]) -> int:
    """As limits explained then: by any fact about the site, whatever frame it is about."""
    hidden = np.zeros(len(run), np.bool_)
    wanted = {Trait[name] for name, arches in limits if arches is None or run.arch.name in arches}
    for at, traits in levels:
        innermost = at.depth == 0
        for trait in wanted:
            held = traits.at(trait)
            hidden[at.step[held & (innermost | (trait in OUTER) | trait.declared)]] = True
    return int((hidden & ~run.watched.transition).sum())


def _rows(name: str, now: Mapping[ByArch, Share], before: Mapping[ByArch, int], known: set[str]) -> Iterator[str]:
    for arch in ARCHES:
        share = now.get((name, arch))
        if share is None or not share.sites:
            continue
        was = _percent(before[name, arch] / share.sites) if name in known else "-"
        asked = (share.width, share.of_judged, share.not_right, share.of_named)
        shown = (was, *map(_percent, (share.of_all, share.of_plain, *asked)), goal_of(name, share))
        yield f"| `{name}` | {arch} | {' | '.join(shown)} |"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
