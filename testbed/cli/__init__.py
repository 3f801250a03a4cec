"""The command line: the one room where programs, unwinders and the engine meet.

A command is a module here with a ``command``, and one line in COMMANDS; it is imported when it is used, so that a
command costs only what it needs.

Exit status: 0 everything explained; 1 something unexplained, or a unit failed; 2 usage, a missing toolchain, or
a program that cannot be built, read or run; 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from testbed.cli.terminal import WIDTH
from testbed.words.errors import TestbedError

COMMANDS = (  # in the order of --help
    *("run", "show", "record", "matrix", "table", "lint", "generate", "fuzz", "backtrace", "names", "gdb", "export"),
    *("unwind", "list", "findings", "cache"),
)


class _CommandGroup(click.Group):
    """The modules of this room as commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"testbed.cli.{cmd_name}").command
        return command


@click.group(cls=_CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH})
@click.version_option(package_name="testbed")
def cli() -> None:
    """The referee of stack unwinders.

    Small programs for x86_64, arm64 and arm32 run in an emulator. At every instruction, every unwinding strategy
    is asked for the call stack, and judged against the stack that the emulator watched.

    \b
    testbed run leaf_call --arch arm64      one program, instruction by instruction
    testbed matrix                          everything, as a table
    testbed list programs                   what there is
    """


def main() -> None:
    """Entry point: every expected failure is one message on standard error."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except TestbedError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:  # `testbed run ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
