"""``testbed list``: what the catalogues hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from testbed.words.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType


def _programs() -> Iterator[RenderableType]:
    from programs import PROGRAMS
    from testbed.report.catalogue_text import programs_table

    yield programs_table(PROGRAMS)


def _unwinders() -> Iterator[RenderableType]:
    from testbed.report.catalogue_text import unwinders_table
    from unwinders import UNWINDERS

    yield unwinders_table(UNWINDERS)


def _referees() -> Iterator[RenderableType]:
    from testbed.referee import REFEREES
    from testbed.report.catalogue_text import referees_table

    yield referees_table(REFEREES)


def _recipes() -> Iterator[RenderableType]:
    from testbed.arch import ARCHES
    from testbed.build.recipes import RECIPES
    from testbed.report.catalogue_text import needed_by_recipes, recipes_table

    yield recipes_table(RECIPES)
    yield needed_by_recipes(ARCHES.values())


def _arches() -> Iterator[RenderableType]:
    from testbed.arch import ARCHES
    from testbed.report.catalogue_text import arches_table

    yield arches_table(ARCHES)


# Each loads what it lists, and nothing else.
_CATALOGUES: Mapping[str, Callable[[], Iterator[RenderableType]]] = MappingProxyType(
    {"programs": _programs, "unwinders": _unwinders, "referees": _referees, "recipes": _recipes, "arches": _arches}
)


@click.command("list")
@click.argument("what", type=click.Choice(list(_CATALOGUES)))
@click.option("--traps", is_flag=True, help="With programs: the traps, the programs that show each, where it happened.")
def command(what: str, traps: bool) -> None:
    """What the catalogues hold."""
    from testbed.cli.terminal import console_for_reports

    if traps:
        if what != "programs":
            raise UsageError(f"--traps goes with programs, not with {what}")
        from programs import PROGRAMS
        from testbed.report.traps_text import print_traps

        print_traps(console_for_reports(), PROGRAMS)
        return
    console = console_for_reports()
    for part in _CATALOGUES[what]():
        console.print(part)
