"""``testbed completion``: what makes a shell complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_INTO = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/testbed.fish"}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_INTO)))
def command(shell: str) -> None:
    """Print a script that makes SHELL complete commands, options, programs, recipes and strategies.

    \b
    testbed completion bash >> ~/.bashrc
    testbed completion zsh >> ~/.zshrc
    testbed completion fish > ~/.config/fish/completions/testbed.fish
    """
    from testbed.cli import cli

    found = get_completion_class(shell)
    assert found is not None, shell
    click.echo(found(cli, {}, "testbed", "_TESTBED_COMPLETE").source())
