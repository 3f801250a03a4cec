"""What a program's header declares of its stacks, held against what was watched, on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from testbed.runs.run import Run
from testbed.truth.expectations import NOT_AS_DECLARED

if TYPE_CHECKING:  # loads the native evaluators
    from testbed.runs.long import LongRun


def disagrees(run: Run | LongRun) -> bool:
    """Say where the program declares other frames than were watched."""
    for disagreement in run.disagreements:
        click.echo(disagreement, err=True)
    if run.disagreements:
        click.echo(NOT_AS_DECLARED, err=True)
    return bool(run.disagreements)
