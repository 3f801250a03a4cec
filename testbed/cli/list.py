"""``testbed list``: what the catalogues hold."""

from __future__ import annotations

import click

from programs import PROGRAMS
from testbed.cli.terminal import console_for_reports
from unwinders import UNWINDERS


@click.command("list")
@click.argument("what", type=click.Choice(["programs", "unwinders", "recipes", "arches"]))
def command(what: str) -> None:
    """What the catalogues hold."""
    from testbed.report.catalogue_text import print_catalogue

    print_catalogue(console_for_reports(), what, programs=PROGRAMS, unwinders=UNWINDERS)
