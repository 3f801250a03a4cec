"""The option of all commands that run a program: after how many instructions to give up."""

from __future__ import annotations

from functools import partial

import click

_option = partial(click.option, "--budget", type=click.IntRange(1), metavar="N", default=1_000_000)
_GIVE_UP = "Give up after this many instructions (default: 1000000{})."
budget_option = _option(help=_GIVE_UP.format(""))
budget_of_processes_too = _option(help=_GIVE_UP.format("; of a process 4000000"))
