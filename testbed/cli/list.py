"""``testbed list``: what the catalogues hold."""

from __future__ import annotations

import click

from programs import PROGRAMS
from testbed.cli.terminal import console_for_reports
from testbed.referee import REFEREES
from testbed.words.errors import UsageError
from unwinders import UNWINDERS


@click.command("list")
@click.argument("what", type=click.Choice(["programs", "unwinders", "referees", "recipes", "arches"]))
@click.option("--traps", is_flag=True, help="With programs: the traps, the programs that show each, where it happened.")
def command(what: str, traps: bool) -> None:
    """What the catalogues hold."""
    if traps:
        if what != "programs":
            raise UsageError(f"--traps goes with programs, not with {what}")
        from testbed.report.traps_text import print_traps

        print_traps(console_for_reports(), PROGRAMS)
        return
    from testbed.report.catalogue_text import print_catalogue

    print_catalogue(console_for_reports(), what, programs=PROGRAMS, unwinders=UNWINDERS, referees=REFEREES)
