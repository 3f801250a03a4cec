"""Options that several commands take, each said once; and commands whose options are the fields of a value."""

from __future__ import annotations

import errno
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import click

from testbed.words.budget import DEFAULT, KINDS, LEAST, OPTION, VARIABLE, budget_of
from testbed.words.errors import UsageError
from testbed.words.files import regular_bytes, said

if TYPE_CHECKING:
    from testbed.runs.run import Run


# Files that a command writes: tried before the work, and where writing fails after all, the rest is still shown.

_OUTPUTS = frozenset(("--output", "--save", "--write-known"))


def try_writing(path: Path) -> None:
    """Raise UsageError where a file cannot be written. What is there stays, and nothing new is there."""
    try:
        there = path.exists()
        # A pipe that nobody reads would be waited for without end.
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY, 0o666))
        if not there:
            path.unlink()
    except (OSError, ValueError) as error:
        nobody = isinstance(error, OSError) and error.errno == errno.ENXIO
        why = "a pipe that nobody reads" if nobody else said(error)
        raise UsageError(f"{path} cannot be written: {why}") from error


def given_bytes(path: Path, called: str = "") -> bytes:
    """What is in a file that was named; from a pipe that nobody writes to nothing is waited for without end."""
    try:
        return regular_bytes(path)
    except (OSError, ValueError) as error:  # a name with a zero in it
        raise UsageError(f"{called}{path} cannot be read: {said(error)}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises UsageError where it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


# What a file that is written holds, by the end of its name: the longer end counts.
_ENDS = MappingProxyType(
    {
        "timeline": (".timeline.json",),
        "json": (".json",),
        "html": (".html",),
        "svg": (".svg",),
        "trace": (".trace",),
        "junit": (".xml",),
        "markdown": (".md",),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files that a command is to write, by what each holds."""

    timeline: Path | None = None
    json: Path | None = None
    html: Path | None = None
    svg: Path | None = None
    trace: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None

    def __bool__(self) -> bool:
        return self != Outputs()


def outputs_option(**kinds: str) -> Callable[[Any], Any]:
    """``-o FILE`` of a command that writes these kinds of files, each with the words for it in the help."""
    told = "; ".join(f"{' or '.join(_ENDS[kind])}: {words}" for kind, words in kinds.items())

    def read(context: click.Context, param: click.Parameter, given: tuple[Path, ...]) -> Outputs:
        found: dict[str, Path] = {}
        for path in given:
            kind = next((each for each in _ENDS if each in kinds and path.name.endswith(_ENDS[each])), None)
            if kind is None:
                raise UsageError(f"-o {path}: the end of its name says what to write ({told})")
            if kind in found:
                raise UsageError(f"-o {found[kind]} and -o {path}: one file of a run ends so ({kinds[kind]})")
            if not context.resilient_parsing:
                try_writing(path)
            found[kind] = path
        return Outputs(**found)

    return click.option(
        "--output",
        "-o",
        "outputs",
        multiple=True,
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=read,
        help=f"Also write FILE, as its name ends: {told}. Repeatable.",
    )


@contextmanager
def written(path: Path) -> Iterator[None]:
    """A file is written while this lasts. Where that fails, it is told, the command goes on, and its status is 2."""
    try:
        yield
    except (OSError, UsageError) as error:
        why = str(error) if isinstance(error, UsageError) else f"{path} cannot be written: {said(error)}"
        click.echo(f"error: {why}", err=True)
        click.get_current_context().call_on_close(lambda: sys.exit(2))


def with_tried_outputs(command: click.Command) -> click.Command:
    """The command, which tries the files that it is to write before it begins."""
    for param in command.params:
        is_file = isinstance(param, click.Option) and isinstance(param.type, click.Path) and not param.type.exists
        if is_file and _OUTPUTS & {*param.opts} and not getattr(param.callback, "tries", False):
            param.callback = _trying(param.callback)
    return command


def _trying(own: Callable[..., Any] | None) -> Callable[..., Any]:
    def callback(context: click.Context, param: click.Parameter, value: Any) -> Any:
        if isinstance(value, Path) and not context.resilient_parsing:
            if str(value) == "-":
                raise click.BadParameter("- is not written to: name a file", context, param)
            try_writing(value)
        return own(context, param, value) if own is not None else value

    callback.tries = True  # type: ignore[attr-defined]
    return callback


FILE = click.Path(dir_okay=False, path_type=Path)
_SOME = partial(click.option, multiple=True)

arch_option = click.option(
    "--arch", "-a", metavar="ARCH", help="x86_64, arm64 or arm32 (default: the first it exists for)."
)
recipe_option = click.option(
    "--recipe", "-r", metavar="RECIPE", help="How to build it (default: the first; testbed list recipes)."
)
seed_option = click.option(
    "--seed",
    default=1,
    show_default=True,
    help="Of all values that are made up, also of samples.",
)
at_option = click.option(
    "--at",
    "location",
    metavar="LOCATION",
    help="One place in the run: symbol, symbol+0x4, symbol+0x4#2 (2nd visit), FILE:LINE, @17.",
)
port_option = click.option(
    "--port", default=0, type=click.IntRange(0, 65535), metavar="N", help="Of 127.0.0.1 (default: a free one)."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON (schemas: testbed/report/schema).")
functions_option = _SOME("--function", "-f", "functions", metavar="GLOB", help="Only these functions; repeatable.")
rebuild_option = click.option("--fresh", is_flag=True, help="Build again, whatever the cache holds.")
arches_option = _SOME("--arch", "-a", "arches", metavar="ARCH", help="Only these architectures; repeatable.")
some_programs_option = _SOME("--program", "-p", "programs", metavar="GLOB", help="Only these programs; repeatable.")
recipes_option = _SOME("--recipe", "-r", "recipes", metavar="GLOB", help="Only these recipes; repeatable.")
unwinders_option = _SOME("--unwinder", "-u", "names", metavar="GLOB", help="Only these unwinders; repeatable.")
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes (default: one a core)."
)
cluster_option = click.option(
    "--cluster", metavar="ADDRESS", help="Use the processes of a Dask scheduler: tcp://HOST:PORT."
)
programs_option = _SOME(
    "--programs",
    "folders",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The programs of this folder, too; a matrix without -p is of these alone. Repeatable.",
)
unwinder_cmd = _SOME(
    "--unwinder-cmd",
    "commands",
    metavar="COMMAND",
    help="A program of yours that speaks docs/protocol.md, instead of the unwinders; beside those of -u. Repeatable.",
)


def _said(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from testbed.conventions.chosen import said_of

    return tuple(map(said_of, given))


convention_option = _SOME(
    "--convention",
    "conventions",
    metavar="[[FILE!]GLOB=]NAME",
    callback=_said,
    help="The calling convention of these functions (default: of all), if not what the file shows: go, "
    "'helper*=sysv-rbx-r12' (it changes these registers, too), 'libm.so.6!*=sysv' (a library of a process); "
    "repeatable, the last one that fits counts.",
)
debug_dirs_option = partial(
    _SOME, "--debug-dir", "debug_dirs", type=click.Path(file_okay=False, exists=True, path_type=Path), metavar="FOLDER"
)
no_debug_files_option = click.option(
    "--no-debug-files", is_flag=True, help="Leave separate debug files alone, also those in /usr/lib/debug."
)


class StepCount(click.IntRange):
    """How many steps: ``4000000``, as reports print it, ``4,000,000``, or ``4M`` (k, M, G)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).replace(",", "")
        scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:], 0)
        try:
            number = float(text[:-1]) * scale if scale else float(text)
        except ValueError:
            number = math.nan
        if not number.is_integer():
            self.fail(f"{value!r} is no number of steps: 4000000, 4,000,000 and 4M are", param, ctx)
        return int(super().convert(int(number), param, ctx))


# After how many instructions to give up, of all commands that run a program.
_budget = partial(click.option, "--budget", type=StepCount(1), metavar="N")
_GIVE_UP = "Give up after this many instructions (default: {})."
budget_option = _budget(default=1_000_000, help=_GIVE_UP.format("1M"))
budget_of_processes_too = _budget(default=1_000_000, help=_GIVE_UP.format("1M; of a process 4M"))
budget_of_edits = _budget(default=5_000, help=_GIVE_UP.format("5k"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRun:
    """One run as a user names it: the program, how it is built, and how it is started."""

    program: Annotated[str, click.argument("program")]
    arch: Annotated[str | None, arch_option]
    recipe: Annotated[str | None, recipe_option]
    seed: Annotated[int, seed_option]
    budget: Annotated[int, budget_option]

    def run(self) -> Run:
        """The program, built, run and watched. Raises UsageError for a name that means nothing."""
        from testbed.cli.corpus import corpus
        from testbed.runs.by_name import named_run

        known, how = corpus(names=[self.program]), (self.arch, self.recipe)
        return named_run(known, self.program, *how, seed=self.seed, budget=self.budget, fresh=False)


def refuse_others(goes_with: str, *names: str) -> None:
    """Raise UsageError for an option that was typed and is none of these parameters: it would change nothing."""
    context = click.get_current_context()
    for param in context.command.params:
        typed = context.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
        if typed and isinstance(param, click.Option) and param.name not in ("file_limit", *names):
            raise UsageError(f"{max(param.opts, key=len)} does not go with {goes_with}: leave it out")


def takes(*kinds: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that is given a value of each of these, before its own arguments and options.

    Their fields are options in this order, each ``name: Annotated[type, click.option(...)]``.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        typed = {kind: get_type_hints(kind, include_extras=True) for kind in kinds}

        def called(**given: Any) -> None:
            values = [kind(**{name: given.pop(name) for name in hints}) for kind, hints in typed.items()]
            command(*values, **given)

        called.__doc__, shown = command.__doc__, called
        called.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        for hint in reversed([hint for hints in typed.values() for hint in hints.values()]):
            shown = hint.__metadata__[0](shown)
        return shown

    return decorated


# ``--file-limit NAME=NUMBER``: how much reading one file may cost, for the commands that read files from elsewhere.

READ_FILES = frozenset({"check", "sweep", "run", "rows", "backtrace", "gdb", "export"})


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


# What `testbed run` takes: a value whose fields are its options; those of a process apart, which others take too.

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
            help="These unwinders, real unwinders too; repeatable. Default: six telling ones; '*': all there are.",
        ),
    ]
    commands: Annotated[tuple[str, ...], unwinder_cmd]
    location: Annotated[
        str | None,
        click.option(
            "--at",
            "location",
            metavar="LOCATION",
            help="One site in detail: symbol, symbol+0x4, symbol+0x4#2, FILE:LINE, @17.",
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
            "--differences", is_flag=True, help="All steps at which some unwinder is not exact, and no others."
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
            type=StepCount(LEAST),
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
            html="a page that steps through the run, or with --sample flame graphs",
            svg="a picture of what is printed",
            timeline="the stacks for speedscope and Perfetto",
            trace="only the recorded run, for --trace",
        ),
    ]

    @property
    def asked(self) -> bool:
        """True where unwinders were asked for, by name or command."""
        return bool(self.names or self.commands)

    @property
    def place(self) -> str | None:
        """The one step that is shown, where one is; None: the whole run."""
        return self.location or ("@0" if self.machine or self.stepping else None)

    def given(self, *names: str) -> list[str]:
        """Those of some options that were given, as they are typed."""
        files = [f"-o {path}" for name in names if (path := getattr(self.outputs, name, None))]
        return [_SPELLED.get(name, f"--{name}") for name in names if getattr(self, name, None)] + files

    def of_every_step(self, *, html: bool = True) -> list[str]:
        """The options given that show every step, or nothing; a page of a process may be of a part (no ``html``)."""
        return self.given("differences", "every_step", "as_json", *(("html",) if html else ()), "timeline")
