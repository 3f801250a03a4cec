"""``testbed list``: what the catalogues hold, and what the cache keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from testbed.cli.options import json_option
from testbed.words.catalogue import joined, matches, nearest, value_of
from testbed.words.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from testbed.contract.unwinder import Unwinder


def _programs() -> Mapping[str, Any]:
    from programs import PROGRAMS
    from testbed.cli.plugins import installed_programs

    return joined(PROGRAMS, installed_programs())


def _unwinders() -> Mapping[str, Any]:
    from testbed.cli.plugins import with_installed
    from unwinders import UNWINDERS

    known, there = with_installed(UNWINDERS), {}
    for name in known:
        try:
            there[name] = known[name]
        except UsageError as error:  # of another package: that is no reason to list nothing
            click.echo(f"left out: {error}", err=True)
    return there


def _matching(names: Sequence[str]) -> list[Unwinder]:
    """Our unwinders and those of real tools whose names match a pattern. Raises UsageError for a typo."""
    from testbed.referee import REFEREES
    from unwinders import UNWINDERS

    everyone = [*UNWINDERS.values(), *(each for referee in REFEREES.values() for each in referee.unwinders)]
    for name in names:
        if not any(matches(each.name, (name,)) for each in everyone):
            raise UsageError(f"no unwinder matches {name!r}; {nearest(name, [each.name for each in everyone])}")
    return [each for each in everyone if matches(each.name, names)]


# Each loads what it lists, and nothing else.
_CATALOGUES: Mapping[str, Callable[[], Mapping[str, Any]]] = MappingProxyType(
    {
        "programs": _programs,
        "unwinders": _unwinders,
        "referees": partial(value_of, "testbed.referee", "REFEREES"),
        "recipes": partial(value_of, "testbed.build.recipes", "RECIPES"),
        "arches": partial(value_of, "testbed.arch", "ARCHES"),
        "assumptions": partial(value_of, "unwinders", "UNWINDERS"),
    }
)


@click.command("list")
@click.argument("what", type=click.Choice([*_CATALOGUES, "cache"]))
@click.option("--traps", is_flag=True, help="With programs: the traps, the programs that show each, where it happened.")
@click.option(
    "--unwinder", "-u", "names", multiple=True, metavar="GLOB", help="With assumptions: those of these alone."
)
@json_option
@click.option("--clear", is_flag=True, help="With cache: remove all that is kept.")
def command(what: str, traps: bool, names: tuple[str, ...], as_json: bool, clear: bool) -> None:
    """What the catalogues hold, and where built files and results are kept.

    The cache holds built files, results, checks, compiled functions and versions of real unwinders. Its folder is the
    one for caches of this user, or the one that the environment variable TESTBED_CACHE names. It need not exist yet.
    All in it is made again when it is missing.
    """
    from testbed.cli.terminal import console_for_reports
    from testbed.report import catalogue_text

    if names and what != "assumptions":
        raise UsageError(f"-u goes with assumptions, not with {what}")
    if traps and as_json:
        raise UsageError("--json lists a catalogue: not with --traps")
    if traps and what != "programs":
        raise UsageError(f"--traps goes with programs, not with {what}")
    if what == "cache":
        _cache(clear=clear)
        return
    if clear:
        raise UsageError(f"--clear goes with cache, not with {what}")
    known = _matching(names) if names else [*_CATALOGUES[what]().values()]
    if as_json:
        from testbed.store.codec import json_text

        click.echo(json_text([catalogue_text.LISTED[what].data(value) for value in known]), nl=False)
        return
    console = console_for_reports()
    for part in _told(what, known, traps=traps):
        console.print(part, crop=False)


def _told(what: str, known: Sequence[Any], *, traps: bool) -> Iterator[RenderableType]:
    from testbed.report import catalogue_text

    if traps:
        from programs import PROGRAMS

        yield catalogue_text.traps_table(PROGRAMS)
    elif what == "assumptions":
        for unwinder in known:
            yield from catalogue_text.assumptions_told(unwinder)
    else:
        yield catalogue_text.catalogue_table(what, known)
    if what == "recipes":
        from testbed.arch import ARCHES

        yield catalogue_text.needed_by_recipes(ARCHES.values())


def _cache(*, clear: bool) -> None:
    """Say where built files, results, checks, compiled functions and versions are kept, and how much; or remove all."""
    from testbed.build.cache import BUILT
    from testbed.campaign.kept_results import ANSWERS, RESULTS
    from testbed.checks.kept import CHECKS, GROUPS
    from testbed.native.machine_code import CODE
    from testbed.referee.versions import brought_already, forget_brought
    from testbed.report.phrases import count
    from testbed.words.files import cache_folder, distrusted

    counted = ((BUILT, "built file"), (RESULTS, "result"), (CHECKS, "check"), (CODE, "compiled function"))
    if clear:
        GROUPS.clear()
        removed = [count(store.clear(), what) for store, what in counted]
        removed.append(f"{count(forget_brought(), 'version')} of real unwinders")
        click.echo(f"removed {', '.join(removed[:-1])} and {removed[-1]} from {cache_folder()}")
    else:
        held = [f"{count(n, what)}, {size / 1e6:.1f} MB" for store, what in counted for n, size in [store.usage()]]
        brought = [file.lstat().st_size for folder in brought_already() for file in folder.rglob("*") if file.is_file()]
        versions = count(len(list(brought_already())), "version")
        held.append(f"{versions} of real unwinders, {sum(brought) / 1e6:.1f} MB")
        click.echo("\n  ".join((f"{cache_folder()} (--clear removes what is kept)", *held)))
        folders = [store.folder for store in (BUILT, RESULTS, CHECKS, ANSWERS, CODE)]
        for why in filter(None, map(distrusted, folders)):
            click.echo(why, err=True)
