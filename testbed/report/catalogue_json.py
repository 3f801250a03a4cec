"""The catalogues as plain data, the shape of ``testbed list --json`` (``schema/list.json``): a name and facts each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is listed is given: nothing else is loaded for one catalogue
    from testbed.arch import Arch
    from testbed.build.recipes import Recipe
    from testbed.contract.unwinder import Unwinder
    from testbed.program.model import Program
    from testbed.referee import Referee

CatalogueData = list[dict[str, Any]]


def programs_data(programs: Mapping[str, Program]) -> CatalogueData:
    return [{"name": p.name, "summary": p.summary, "sources": list(p.sources)} for p in programs.values()]


def unwinders_data(unwinders: Mapping[str, Unwinder]) -> CatalogueData:
    return [_unwinder(unwinder) for unwinder in unwinders.values()]


def _unwinder(unwinder: Unwinder) -> dict[str, Any]:
    arches = sorted(unwinder.arches) if unwinder.arches else None
    return {"name": unwinder.name, "summary": unwinder.summary, "arches": arches, "needs": sorted(unwinder.needs)}


def referees_data(referees: Mapping[str, Referee]) -> CatalogueData:
    found: CatalogueData = []
    for referee in referees.values():
        here = referee.find()
        found.append(
            {
                "name": referee.name,
                "summary": referee.summary,
                "strategies": [each.name for each in referee.unwinders],
                "found": str(here) if here else None,
                "package": referee.package,
            }
        )
    return found


def recipes_data(recipes: Mapping[str, Recipe]) -> CatalogueData:
    return [{"name": r.name, "summary": r.summary, "builds": r.tool.takes.value} for r in recipes.values()]


def arches_data(arches: Mapping[str, Arch]) -> CatalogueData:
    return [
        {"name": a.name, "instruction_sets": [isa.name for isa in a.isas], "aliases": list(a.aliases)}
        for a in arches.values()
    ]


def limits_data(unwinders: Iterable[Unwinder], arches: Iterable[Arch]) -> CatalogueData:
    return [
        {
            "name": unwinder.name,
            "arch": arch.name,
            "mechanism": limit.mechanism,
            "outcomes": sorted(outcome.value for outcome in limit.outcomes),
            "because": limit.because,
            "reference": limit.reference,
        }
        for unwinder in unwinders
        for arch in arches
        for limit in unwinder.limits_on(arch)
    ]
