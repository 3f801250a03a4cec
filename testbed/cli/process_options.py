"""The options of ``testbed run`` that only a real Linux program has."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import click

from testbed.cli.options import FILE, StepCount, debug_dirs_option, no_debug_files_option


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """What only a process has: what it is given, what it sees, and how much of it is looked at."""

    arguments: Annotated[tuple[str, ...], click.argument("arguments", nargs=-1)]
    process: Annotated[
        bool, click.option("--process", is_flag=True, help="Run a program file as a Linux process, whatever it is.")
    ]
    stdin: Annotated[
        Path | None,
        click.option(
            "--stdin",
            type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
            help="What it reads: a file, or - for what this command reads.",
        ),
    ]
    stdout: Annotated[
        Path | None, click.option("--stdout", type=FILE, help="Write what it prints to this file; else it is shown.")
    ]
    shown: Annotated[
        tuple[str, ...],
        click.option(
            "--folder",
            "shown",
            multiple=True,
            metavar="NAME=DIR",
            help="Show it DIR as NAME, to read; repeatable.",
        ),
    ]
    variables: Annotated[
        tuple[str, ...],
        click.option(
            "--env",
            "variables",
            multiple=True,
            metavar="NAME=VALUE",
            help="A variable of its environment, besides PATH and LANG=C; repeatable.",
        ),
    ]
    sysroot: Annotated[
        Path | None,
        click.option("--sysroot", type=click.Path(file_okay=False, path_type=Path), help="Where its libraries are."),
    ]
    debug_dirs: Annotated[
        tuple[Path, ...],
        debug_dirs_option(
            help="Where debug files of its stripped libraries are looked for besides /usr/lib/debug. Repeatable."
        ),
    ]
    no_debug_files: Annotated[bool, no_debug_files_option]
    sample: Annotated[
        int | None,
        click.option(
            "--sample",
            type=StepCount(1),
            metavar="N",
            help="Also what a sampling profiler sees at every N-th step; -o FILE.html has its flame graphs beside the "
            "true one, -o FILE.timeline.json is for speedscope.",
        ),
    ]
    against: Annotated[
        Path | None,
        click.option(
            "--against",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="With --sample: another build, run with the same arguments: what it costs, what differs.",
        ),
    ]
    child: Annotated[
        str | None,
        click.option(
            "--child",
            metavar="NAME|NUMBER",
            help="Judge another program of the run, as one that a shell starts: by its name, or its process's number.",
        ),
    ]
    asked_at: Annotated[
        int | None,
        click.option(
            "--asked-at",
            type=StepCount(1),
            metavar="N",
            help="At how many steps unwinders are asked that take one snapshot at a time: 500, real tools 100.",
        ),
    ]

    @property
    def asked(self) -> bool:
        """True where one of them was given."""
        return any(getattr(self, each.name) not in ((), None, False) for each in fields(self))
