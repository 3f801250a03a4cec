"""``testbed table``: what the unwind tables of a file say, as rows."""

from __future__ import annotations

import click

from programs import PROGRAMS
from testbed.cli.terminal import console_for_reports, matching
from testbed.errors import UsageError
from testbed.named import named_image
from unwinders import UNWINDERS


@click.command("table")
@click.argument("program")
@click.option("--arch", "-a", metavar="ARCH", help="For a program or source: the architecture.")
@click.option("--recipe", "-r", metavar="RECIPE", help="For a program or source: how to build it.")
@click.option(
    "--format", "-f", "names", multiple=True, metavar="GLOB", help="Only these strategies' tables; repeatable."
)
def command(program: str, arch: str | None, recipe: str | None, names: tuple[str, ...]) -> None:
    """What the unwind tables of PROGRAM say at every pc, as rows.

    PROGRAM is a name from `testbed list programs`, or the path of a source or an ELF or Mach-O file; the rows are
    those that a strategy applies, in the shape of `readelf --debug-dump=frames-interp`.
    """
    from testbed.report.table_text import table_page

    image = named_image(PROGRAMS, program, arch, recipe)
    tables = [u for u in matching(UNWINDERS, names, "strategy") if u.rows is not None and u.applies_to(image)]
    if not tables:
        raise UsageError(f"{image} has no table that a strategy reads; testbed list unwinders says what each needs")
    for unwinder in tables:
        assert unwinder.rows is not None
        console_for_reports().print(table_page(unwinder.name, image, unwinder.rows(image)))
