"""The option of all commands that run a program: after how many instructions to give up."""

from __future__ import annotations

import click

budget_option = click.option(
    "--budget",
    type=click.IntRange(1),
    default=1_000_000,
    show_default=True,
    help="Give up after this many instructions.",
)
