"""Options that several commands take, each said once; and commands whose options are the fields of a value."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import click

from testbed.words.budget import DEFAULT, KINDS, OPTION, VARIABLE, budget_of
from testbed.words.errors import UsageError

if TYPE_CHECKING:
    from testbed.runs.run import Run

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
    help="One place in the run: symbol, symbol+0x4, symbol+0x4#2 (2nd visit), @17.",
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
strategies_option = _SOME("--unwinder", "-u", "names", metavar="GLOB", help="Only these strategies; repeatable.")
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
    help="A program of yours that speaks docs/protocol.md, instead of the strategies; beside those of -u. Repeatable.",
)


def _said(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from testbed.conventions.chosen import said_of

    del context, param
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
# After how many instructions to give up, of all commands that run a program.
_budget = partial(click.option, "--budget", type=click.IntRange(1), metavar="N")
_GIVE_UP = "Give up after this many instructions (default: {})."
budget_option = _budget(default=1_000_000, help=_GIVE_UP.format("1000000"))
budget_of_processes_too = _budget(default=1_000_000, help=_GIVE_UP.format("1000000; of a process 4000000"))
budget_of_edits = _budget(default=5_000, help=_GIVE_UP.format("5000"))


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
