"""``testbed protocol``: the protocol for unwinders in any language: its page, examples, and a check of a program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from programs import PROGRAMS
from testbed.protocol.conformance import Remark, conformance
from testbed.protocol.example import EXAMPLES, PAGE, SCHEMA, write_example
from testbed.protocol.foreign_unwinder import SECONDS, command_words, does_not_start
from testbed.runs.by_name import named_run
from testbed.trace import Snapshot

_CHECKED = "leaf_call"  # a small program with frames, for every architecture
_STEPS = 20


@click.command("protocol")
@click.option("--example", "language", type=click.Choice(list(EXAMPLES)), help="Write a working unwinder to DIR.")
@click.option("--check", "checking", is_flag=True, help="Check the program of --unwinder-cmd against the protocol.")
@click.option("--unwinder-cmd", "commands", multiple=True, metavar="COMMAND", help="The program for --check.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of its lines.")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
def command(
    language: str | None, checking: bool, commands: Sequence[str], schema: bool, directory: Path | None
) -> None:
    """Print the protocol that --unwinder-cmd speaks, write an example in DIR, or check a program.

    --check says in sentences what is wrong with a program's answers; the exit status is 1 if anything is. Whether the
    answers are true, `testbed run` and `testbed matrix` tell.
    """
    if bool(language) != bool(directory):
        raise click.UsageError("--example and DIR belong together: testbed protocol --example c DIR")
    if checking != (len(commands) == 1):
        raise click.UsageError("--check takes one --unwinder-cmd: testbed protocol --check --unwinder-cmd ./mine")
    if checking:
        _check(commands[0])
    elif language is not None and directory is not None:
        _write(language, directory)
    else:
        click.echo((SCHEMA if schema else PAGE).read_text(encoding="utf-8"), nl=False)


def _write(language: str, directory: Path) -> None:
    example = EXAMPLES[language]
    for path in write_example(example, directory):
        click.echo(path)
    click.echo("Try it:")
    for line in (f"cd {directory}", example.build, f'testbed run leaf_call --unwinder-cmd "{example.command}"'):
        if line:
            click.echo(f"    {line}")


def _check(text: str) -> None:
    """Print the remarks, and exit with 1 where one says that something is wrong."""
    words = command_words(text)
    remarks: list[Remark] = []
    try:
        for remark in conformance(words, _snapshots(), SECONDS):
            remarks.append(remark)
            click.echo(str(remark))
    except OSError as error:
        raise does_not_start(words, error) from error
    wrong = sum(remark.right is False for remark in remarks)
    click.echo(f"{wrong} of {len(remarks)} are wrong" if wrong else "it speaks the protocol")
    if wrong:
        sys.exit(1)


def _snapshots() -> dict[str, Sequence[Snapshot]]:
    """Some steps of a small program on each architecture."""
    found: dict[str, Sequence[Snapshot]] = {}
    for arch in PROGRAMS[_CHECKED].arches():
        run = named_run(PROGRAMS, _CHECKED, arch.name, None, seed=1, budget=100_000, fresh=False)
        found[arch.name] = [run.trace.snapshot(step) for step in range(0, len(run), max(1, len(run) // _STEPS))]
    return found
