"""What `testbed run` takes: a value whose fields are its options; those of a process apart, which others take too."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import click

from testbed.cli.options import (
    FILE,
    arch_option,
    budget_of_processes_too,
    convention_option,
    debug_dirs_option,
    json_option,
    no_debug_files_option,
    programs_option,
    rebuild_option,
    recipe_option,
    seed_option,
    unwinder_cmd,
)
from testbed.cli.writing import Outputs, outputs_option
from testbed.trace.chunk import LEAST

_SPELLED = {
    "every_step": "--steps",
    "as_json": "--json",
    "frame_records": "--frame-record",
    "conventions": "--convention",
    "stepping": "--step",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What was typed; each option's help says what it is."""

    program: Annotated[str | None, click.argument("program", required=False)]
    arch: Annotated[str | None, arch_option]
    recipe: Annotated[str | None, recipe_option]
    folders: Annotated[tuple[Path, ...], programs_option]
    names: Annotated[
        tuple[str, ...],
        click.option(
            "--unwinder",
            "-u",
            "names",
            multiple=True,
            metavar="GLOB",
            help="These strategies, real unwinders too; repeatable. Default: six telling ones; '*': all there are.",
        ),
    ]
    commands: Annotated[tuple[str, ...], unwinder_cmd]
    location: Annotated[
        str | None,
        click.option(
            "--at",
            "location",
            metavar="LOCATION",
            help="One site in detail: symbol, symbol+0x4, symbol+0x4#2, @17.",
        ),
    ]
    machine: Annotated[
        bool,
        click.option(
            "--machine",
            is_flag=True,
            help="The whole site (default: @0): code, registers, the stack word by word, unwind rows, frames.",
        ),
    ]
    stepping: Annotated[
        bool, click.option("--step", "stepping", is_flag=True, help="Move about in the run from there, full screen.")
    ]
    cross_check: Annotated[
        bool,
        click.option(
            "--cross-check",
            is_flag=True,
            help="Instead, compare two witnesses of the call stack at every step. One watches what instructions have "
            "as their effect: it is the truth that everything is judged by. The other follows every return address "
            "from the call that made it to the jump that uses it, with a disassembler.",
        ),
    ]
    differences: Annotated[
        bool,
        click.option(
            "--differences", is_flag=True, help="All steps at which some strategy is not exact, and no others."
        ),
    ]
    every_step: Annotated[
        bool, click.option("--steps", "every_step", is_flag=True, help="Every step (default: of runs up to 200 steps).")
    ]
    explain: Annotated[
        bool,
        click.option("--explain", is_flag=True, help="Also explain the words for outcomes and mechanisms that occur."),
    ]
    seed: Annotated[int, seed_option]
    budget: Annotated[int, budget_of_processes_too]
    jobs: Annotated[
        int,
        click.option("--jobs", "-j", type=click.IntRange(1, 2), default=1, help="2: judge a run in pieces by threads."),
    ]
    chunk: Annotated[
        int | None,
        click.option(
            "--chunk",
            type=click.IntRange(LEAST),
            help="Run in pieces of this many steps, however short the run "
            "(default: only what is longer than 2 million steps).",
        ),
    ]
    fresh: Annotated[bool, rebuild_option]
    frame_records: Annotated[
        tuple[str, ...],
        click.option(
            "--frame-record",
            "frame_records",
            multiple=True,
            metavar="NAME",
            help="Of a program file: the layout of its frame records, for example r11-gcc; repeatable.",
        ),
    ]
    conventions: Annotated[tuple[tuple[str, str], ...], convention_option]
    trace: Annotated[Path | None, click.option("--trace", type=FILE, help="Judge the run in this file instead.")]
    as_json: Annotated[bool, json_option]
    outputs: Annotated[
        Outputs,
        outputs_option(
            html="a page that steps through the run",
            svg="a picture of what is printed",
            plot="plots",
            timeline="the stacks for speedscope and Perfetto",
            trace="only the recorded run, for --trace",
        ),
    ]

    @property
    def asked(self) -> bool:
        """True where strategies were asked for, by name or command."""
        return bool(self.names or self.commands)

    @property
    def place(self) -> str | None:
        """The one step that is shown, where one is; None: the whole run."""
        return self.location or ("@0" if self.machine or self.stepping else None)

    def given(self, *names: str) -> list[str]:
        """Those of some options that were given, as they are typed."""
        files = [f"-o {path}" for name in names if (path := getattr(self.outputs, name, None))]
        return [_SPELLED.get(name, f"--{name}") for name in names if getattr(self, name, None)] + files

    def of_every_step(self) -> list[str]:
        """The options given that show every step, or nothing."""
        return self.given("differences", "every_step", "as_json", "html", "plot", "timeline")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """What only a process has: what it is given, what it sees, and how much of it is looked at."""

    arguments: Annotated[tuple[str, ...], click.argument("arguments", nargs=-1)]
    process: Annotated[
        bool, click.option("--process", is_flag=True, help="Run a program file as a Linux process, whatever it is.")
    ]
    stdin: Annotated[
        Path | None,
        click.option("--stdin", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="What it reads."),
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
            type=click.IntRange(1),
            metavar="N",
            help="Also what a sampling profiler sees at every N-th step; -o FILE.timeline.json for speedscope.",
        ),
    ]
    asked_at: Annotated[
        int | None,
        click.option(
            "--asked-at",
            type=click.IntRange(1),
            metavar="N",
            help="At how many steps strategies are asked that take one snapshot at a time: 500, real tools 100.",
        ),
    ]

    @property
    def asked(self) -> bool:
        """True where one of them was given."""
        return any(getattr(self, each.name) not in ((), None, False) for each in fields(self))
