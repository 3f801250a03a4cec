"""``testbed rows``: what the unwind tables of a file say, as rows."""

from __future__ import annotations

from pathlib import Path

import click

from testbed.cli.corpus import corpus
from testbed.cli.options import arch_option, debug_dirs_option, recipe_option
from testbed.cli.terminal import console_for_reports
from testbed.image.separate_debug import DebugDirs
from testbed.runs.by_name import named_image
from testbed.words.catalogue import matching
from testbed.words.errors import TestbedError, UnwindError, UsageError
from unwinders import UNWINDERS


@click.command("rows")
@click.argument("program")
@arch_option
@recipe_option
@click.option(
    "--format", "-f", "names", multiple=True, metavar="GLOB", help="Only these unwinders' tables; repeatable."
)
@debug_dirs_option(
    help="For a program file: look for its separate debug file, there and beside it, as gdb's debug-file-directory.",
)
def command(
    program: str, arch: str | None, recipe: str | None, names: tuple[str, ...], debug_dirs: tuple[Path, ...]
) -> None:
    """What the unwind tables of PROGRAM say at every pc, as rows.

    PROGRAM is a name from `testbed list programs`, or the path of a source or an ELF or Mach-O file; the rows are
    those that an unwinder applies, in the shape of `readelf --debug-dump=frames-interp`. Whether they are right says
    `testbed check`.
    """
    from testbed.report.table_text import LEGEND, table_page

    image = named_image(corpus(names=[program]), program, arch, recipe, DebugDirs(debug_dirs))
    tables = [u for u in matching(UNWINDERS, names, "unwinder") if u.rows is not None and u.applies_to(image)]
    if not tables:
        raise UsageError(f"{image} has no table that an unwinder reads; testbed list unwinders says what each needs")
    for unwinder in tables:
        assert unwinder.rows is not None
        try:
            table = unwinder.rows(image)
        except UnwindError as error:
            raise TestbedError(f"{image}: {unwinder.name}: {error}") from error
        console_for_reports().print(table_page(unwinder.name, image, table))
    console_for_reports().print(LEGEND, style="dim")
