"""``testbed list``: what the catalogues hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from testbed.words.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from testbed.contract.unwinder import Unwinder
    from testbed.report.catalogue_text import CatalogueData

    Listed = RenderableType | CatalogueData


def _programs(as_json: bool) -> Iterator[Listed]:
    from programs import PROGRAMS
    from testbed.cli.plugins import installed_programs
    from testbed.report import catalogue_text
    from testbed.words.catalogue import joined

    known = joined(PROGRAMS, installed_programs())
    yield catalogue_text.programs_data(known) if as_json else catalogue_text.programs_table(known)


def _unwinders(as_json: bool) -> Iterator[Listed]:
    from testbed.cli.plugins import with_installed
    from testbed.report import catalogue_text
    from unwinders import UNWINDERS

    known, there = with_installed(UNWINDERS), {}
    for name in known:
        try:
            there[name] = known[name]
        except UsageError as error:  # of another package: that is no reason to list nothing
            click.echo(f"left out: {error}", err=True)
    yield catalogue_text.unwinders_data(there) if as_json else catalogue_text.unwinders_table(there)


def _referees(as_json: bool) -> Iterator[Listed]:
    from testbed.referee import REFEREES
    from testbed.report import catalogue_text

    yield catalogue_text.referees_data(REFEREES) if as_json else catalogue_text.referees_table(REFEREES)


def _recipes(as_json: bool) -> Iterator[Listed]:
    from testbed.arch import ARCHES
    from testbed.build.recipes import RECIPES
    from testbed.report import catalogue_text

    yield catalogue_text.recipes_data(RECIPES) if as_json else catalogue_text.recipes_table(RECIPES)
    if not as_json:
        yield catalogue_text.needed_by_recipes(ARCHES.values())


def _arches(as_json: bool) -> Iterator[Listed]:
    from testbed.arch import ARCHES
    from testbed.report import catalogue_text

    yield catalogue_text.arches_data(ARCHES) if as_json else catalogue_text.arches_table(ARCHES)


def _assumptions(as_json: bool, names: Sequence[str] = ()) -> Iterator[Listed]:
    """Of our techniques, or of those that are named: what must hold of each frame, clause by clause."""
    from testbed.report import catalogue_text

    chosen = _matching(names)
    if as_json:
        yield catalogue_text.assumptions_data(chosen)
    else:
        for unwinder in chosen:
            yield from catalogue_text.assumptions_told(unwinder)


def _matching(names: Sequence[str]) -> list[Unwinder]:
    """Our strategies and those of real tools whose names match a pattern; without one all of ours.

    Raises UsageError for a typo.
    """
    from testbed.referee import REFEREES
    from testbed.words.catalogue import matches
    from testbed.words.nearest import nearest
    from unwinders import UNWINDERS

    everyone = [*UNWINDERS.values(), *(each for referee in REFEREES.values() for each in referee.unwinders)]
    if not names:
        return list(UNWINDERS.values())
    for name in names:
        if not any(matches(each.name, (name,)) for each in everyone):
            raise UsageError(f"no strategy matches {name!r}; {nearest(name, [each.name for each in everyone])}")
    return [each for each in everyone if matches(each.name, names)]


# Each loads what it lists, and nothing else.
_CATALOGUES: Mapping[str, Callable[..., Iterator[Listed]]] = MappingProxyType(
    {
        "programs": _programs,
        "unwinders": _unwinders,
        "referees": _referees,
        "recipes": _recipes,
        "arches": _arches,
        "assumptions": _assumptions,
    }
)


@click.command("list")
@click.argument("what", type=click.Choice(list(_CATALOGUES)))
@click.option("--traps", is_flag=True, help="With programs: the traps, the programs that show each, where it happened.")
@click.option(
    "--unwinder", "-u", "names", multiple=True, metavar="GLOB", help="With assumptions: those of these alone."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON (schema: testbed/report/schema/list.json).")
def command(what: str, traps: bool, names: tuple[str, ...], as_json: bool) -> None:
    """What the catalogues hold."""
    from testbed.cli.terminal import console_for_reports

    if names and what != "assumptions":
        raise UsageError(f"-u goes with assumptions, not with {what}")
    listed = partial(_CATALOGUES[what], names=names) if names else _CATALOGUES[what]
    if as_json:
        if traps:
            raise UsageError("--json lists a catalogue: not with --traps")
        json.dump(next(listed(True)), sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    if traps:
        if what != "programs":
            raise UsageError(f"--traps goes with programs, not with {what}")
        from programs import PROGRAMS
        from testbed.report.traps_text import print_traps

        print_traps(console_for_reports(), PROGRAMS)
        return
    console = console_for_reports()
    for part in listed(False):
        console.print(part, crop=False)
