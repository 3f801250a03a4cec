"""``--file-limit NAME=NUMBER``: how much reading one file may cost, for the commands that read files from elsewhere."""

from __future__ import annotations

import os

import click

from testbed.words.budget import DEFAULT, KINDS, OPTION, VARIABLE, budget_of

READ_FILES = frozenset(
    ("check", "run", "show", "record", "prove", "table", "lint", "backtrace", "names", "gdb", "export", "unwind")
)


def with_limits(name: str, command: click.Command) -> click.Command:
    """The command, with the option where it reads files."""
    if name in READ_FILES and not any(OPTION in param.opts for param in command.params):
        command.params.append(
            click.Option(
                [OPTION],
                multiple=True,
                metavar="NAME=NUMBER",
                expose_value=False,
                callback=_limit,
                help=f"What reading one file may cost, instead of the default (seconds={DEFAULT.seconds:g}): "
                f"{', '.join(KINDS)}. Repeatable.",
            )
        )
    return command


def _limit(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> None:
    """Set the limits for this process and for those that it starts, as long as the command runs."""
    del param
    if not given:
        return
    before = os.environ.get(VARIABLE)
    text = ",".join(filter(None, (before, *given)))
    budget_of(text)
    os.environ[VARIABLE] = text
    context.call_on_close(lambda: _restore(before))


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = before
