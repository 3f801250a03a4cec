"""The options that only a process has: what it is given, what it sees, and how much of it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """What only a process has."""

    arguments: tuple[str, ...] = ()
    process: bool = False
    stdin: Path | None = None
    stdout: Path | None = None
    shown: tuple[str, ...] = ()
    sysroot: Path | None = None
    debug_dirs: tuple[Path, ...] = ()
    sample: int | None = None
    asked_at: int | None = None

    @property
    def asked(self) -> bool:
        """True where one of them was given."""
        return self != ProcessOptions()


def process_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a process, below those of every run."""
    for option in reversed(
        (
            click.argument("arguments", nargs=-1),
            click.option("--process", is_flag=True, help="Run a program file as a Linux process, whatever it is."),
            click.option(
                "--stdin", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="What it reads."
            ),
            click.option("--stdout", type=_FILE, help="Write what it prints to this file; else it is shown."),
            click.option(
                "--folder",
                "shown",
                multiple=True,
                metavar="NAME=DIR",
                help="Show it DIR as NAME, to read; repeatable.",
            ),
            click.option(
                "--sysroot", type=click.Path(file_okay=False, path_type=Path), help="Where its libraries are."
            ),
            click.option(
                "--debug-dir",
                "debug_dirs",
                multiple=True,
                type=click.Path(file_okay=False, exists=True, path_type=Path),
                metavar="FOLDER",
                help="Where debug files of its stripped libraries are looked for: /usr/lib/debug. Repeatable.",
            ),
            click.option(
                "--sample",
                type=click.IntRange(1),
                metavar="N",
                help="Also what a sampling profiler sees at every N-th step; --timeline FILE for speedscope.",
            ),
            click.option(
                "--asked-at",
                type=click.IntRange(1),
                metavar="N",
                help="At how many steps strategies are asked that take one snapshot at a time: 500, real tools 100.",
            ),
        )
    ):
        command = option(command)
    return command


def taken(given: dict[str, Any]) -> ProcessOptions:
    """The options of a process, taken out of all that were given."""
    return ProcessOptions(**{name: given.pop(name) for name in ProcessOptions.__dataclass_fields__})
