"""The command line: the one room where programs, unwinders and the engine meet.

A command is a module here with a ``command``, and one line in COMMANDS; it is imported when it is used, so that a
command costs only what it needs.

Exit status: 0 everything explained; 1 something unexplained, or a unit failed; 2 usage, a missing toolchain, or
a program that cannot be built, read or run; 130 interrupted.
"""

from __future__ import annotations

import _thread
import codecs
import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from io import TextIOWrapper
from types import MappingProxyType

import click
from click.shell_completion import CompletionItem

from testbed.words.edges import TRACEBACK, edge, is_edge
from testbed.words.errors import TestbedError, UsageError
from testbed.words.files import DISTRIBUTION

# Names for the shell to complete: programs, recipes, architectures, unwinders. A catalogue is loaded when asked for.
#
# click completes commands and options: ``_TESTBED_COMPLETE=bash_source testbed`` prints the script.


def _summaries(module: str, name: str) -> Mapping[str, str]:
    from testbed.words.catalogue import value_of

    return {name: each.summary for name, each in value_of(module, name).items()}


def _arches() -> Mapping[str, str]:
    from testbed.arch import ARCHES

    return {name: ", ".join(isa.name for isa in arch.isas) for name, arch in ARCHES.items()}


def _unwinders() -> Mapping[str, str]:
    from testbed.referee import REFEREES
    from unwinders import UNWINDERS

    real = {each.name: each.summary for referee in REFEREES.values() for each in referee.unwinders}
    return {**{name: unwinder.summary for name, unwinder in UNWINDERS.items()}, **real}


# By the metavariable that stands in a command's help, or by its option.
_CATALOGUES: Mapping[str, Callable[[], Mapping[str, str]]] = MappingProxyType(
    {
        "program": partial(_summaries, "programs", "PROGRAMS"),
        "--program": partial(_summaries, "programs", "PROGRAMS"),
        "--recipe": partial(_summaries, "testbed.build.recipes", "RECIPES"),
        "--arch": _arches,
        "--unwinder": _unwinders,
        "--format": _unwinders,
        "tools": partial(_summaries, "testbed.referee", "REFEREES"),
    }
)


class _NameOf(click.ParamType[str]):
    """A string that is a name of a catalogue more often than not; a path is completed too."""

    name = "text"

    def __init__(self, catalogue: Callable[[], Mapping[str, str]], files: bool) -> None:
        self._catalogue, self._files = catalogue, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=summary)
            for name, summary in self._catalogue().items()
            if name.startswith(incomplete)
        ]
        return found if found or not self._files else [CompletionItem(incomplete, type="file")]


def with_names(command: click.Command) -> click.Command:
    """The command, with names for the shell where it takes some."""
    for param in command.params:
        asked: Iterable[str] = (param.name or "", *param.opts) if isinstance(param, click.Argument) else param.opts
        catalogue = next((_CATALOGUES[key] for key in asked if key in _CATALOGUES), None)
        if catalogue is not None and param.type is click.STRING:
            param.type = _NameOf(catalogue, isinstance(param, click.Argument))
    return command


# An interrupt (Ctrl-C, ``KeyboardInterrupt``) where it would be lost: in finalizers, callbacks and compiled functions.
#
# Python raises it wherever the main thread happens to be. No exception leaves a finalizer or the callback of a library:
# Python prints it as ignored, and the work that somebody wanted to end goes on to its end. A compiled function that was
# being entered makes a ``SystemError`` of it.

_SOON = 0.05  # seconds: the finalizer or the callback is over then; if not, it is heard once more


def hear_ignored_interrupts() -> None:
    """From now on an interrupt that had to be ignored is raised again, a moment later."""
    before = sys.unraisablehook

    def told(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_value is None or not is_interrupt(ignored.exc_value):
            before(ignored)
        elif not sys.is_finalizing():
            _thread.start_new_thread(_again, ())  # takes no lock: nobody knows what is held here

    sys.unraisablehook = told


def _again() -> None:
    time.sleep(_SOON)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGINT)


def is_interrupt(error: BaseException) -> bool:
    """True for an interrupt, and for an error that says that it was caused by one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None


# Standard output in an encoding that lacks what reports draw with: ASCII, Latin-1. Each sign becomes one of ASCII.

_HANDLER = "testbed.drawn"
_DRAWN = {
    **dict.fromkeys("│┃║▌▏▕", "|"),
    **dict.fromkeys("─━═–—", "-"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"),
    **dict.fromkeys("·…", "."),
    **dict.fromkeys("→▶", ">"),
    "←": "<",
    "↑": "^",
    "↓": "v",
    "↩": "<",
    "×": "x",
    "≠": "!",
    "▁": "_",
    "▣": "#",
    "□": "o",
    "§": "s",
    "█": "#",
    "“": '"',
    "”": '"',
}


def draw_in_any_encoding() -> None:
    """From now on no sign is an error of standard output: what its encoding lacks is written as a similar one, or ?."""
    out = sys.stdout
    if isinstance(out, TextIOWrapper) and codecs.lookup(out.encoding).name != "utf-8":
        codecs.register_error(_HANDLER, _similar)
        out.reconfigure(errors=_HANDLER)


def _similar(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_DRAWN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


WIDTH = 100  # the reports are laid out for 100 columns, also where there is no terminal
_GARBAGE = 50_000  # new objects between searches for cycles: what is loaded stays, and searching costs a tenth
_GROUPS = """
Begin here:
check      Call every function of FILE in an emulator, and compare its unwind tables with what each instruction does.
run        Run PROGRAM and judge every unwinder at every instruction.
score      How an unwinder fares, by architecture, phase and trap, and its place beside all that are known.

Files:
annotate   Write the unwind directives that the functions of an assembly source lack.
sweep      Say which functions of many files have wrong unwind tables: by their instructions, then by executing them.
rows       What the unwind tables of PROGRAM say at every pc, as rows.

One run:
edit       Edit PROGRAM in a browser on this machine, and see rows, outcomes and verdicts change.
backtrace  The call stack of a snapshot, or of PROGRAM at LOCATION, with names and lines.
gdb        Open the recorded run of PROGRAM in gdb, at LOCATION.

Many runs:
matrix     Judge every unwinder on every program, architecture and recipe (or on those chosen).
fuzz       Generate programs from seeds, judge every unwinder at every instruction, shrink what nothing explains.

For other tools:
export     PROGRAM's registers and memory at LOCATION as a file for other tools, or test vectors of many programs.
protocol   Print the protocol that --unwinder-cmd speaks, write an example in DIR, or check a program.
list       What the catalogues hold, and where built files and results are kept.
"""
# As --help shows them, each with the first sentence of its own help: --help imports no command.
GROUPS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        title: dict(line.split(maxsplit=1) for line in lines)
        for title, *lines in (group.splitlines() for group in _GROUPS.strip().split("\n\n"))
    }
)
COMMANDS: Mapping[str, str] = MappingProxyType(
    {name: told for group in GROUPS.values() for name, told in group.items()}
)
# Commands of earlier versions, each with what answers the same now.
MOVED = MappingProxyType(
    {
        "cache": "testbed list cache",
        "completion": "_TESTBED_COMPLETE=bash_source testbed (zsh_source, fish_source)",
        "findings": "testbed matrix --known-bugs",
        "generate": "testbed fuzz --write SEED",
        "lint": "testbed check PROGRAM --executed",
        "names": "testbed backtrace PROGRAM --judge",
        "prove": "testbed run PROGRAM --cross-check",
        "record": "testbed run PROGRAM -o FILE.trace",
        "serve": "testbed edit",
        "show": "testbed run PROGRAM --at PLACE --machine",
        "table": "testbed rows",
        "unwind": "testbed backtrace SNAPSHOT",
        "vectors": "testbed export --vectors DIR",
    }
)


class _ListedCommands(click.Group):
    """The commands as --help lists them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # `list` is a module of this room once it is imported

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return click.Command(cmd_name, help=COMMANDS[cmd_name])


class _CommandGroup(_ListedCommands):
    """The modules of this room as commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in MOVED and not ctx.resilient_parsing:
            raise UsageError(f"there is no `testbed {cmd_name}` any more; in its place: {MOVED[cmd_name]}")
        if cmd_name not in COMMANDS:
            return None
        from testbed.cli.options import with_limits, with_tried_outputs

        command = with_tried_outputs(with_names(importlib.import_module(f"testbed.cli.{cmd_name}").command))
        return with_limits(cmd_name, command)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `testbed run ... | head`: click's status for it, 1, is that of a finding
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title.rstrip(":")):  # whole sentences, in as many lines as they take
                formatter.write_dl([*commands.items()], col_max=12)


@click.group(cls=_CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH})
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """The referee of stack unwinders.

    Small programs for x86_64, arm64 and arm32 run in an emulator. At every instruction, every unwinder
    is asked for the call stack, and judged against the stack that the emulator watched.

    \b
    testbed check memcpy.S                  are its unwind tables right?
    testbed run leaf_call --arch arm64      one program, instruction by instruction
    testbed score --unwinder-cmd ./mine     where an unwinder of yours stands
    testbed list programs                   what there is
    """


def main() -> None:
    """Entry point: every expected failure is one message on standard error."""
    gc.set_threshold(_GARBAGE)
    _open_closed_streams()
    draw_in_any_encoding()
    hear_ignored_interrupts()
    try:
        if any("\0" in argument for argument in sys.argv):  # not from a shell, but from who calls this
            raise UsageError("an argument has a zero byte in it, which no name and no number has")
        status = cli.main(prog_name="testbed", complete_var="_TESTBED_COMPLETE", standalone_mode=False)
        if isinstance(status, int) and status:
            sys.exit(status)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.NoArgsIsHelpError as nothing:
        nothing.show()
        sys.exit(2)
    except click.ClickException as error:
        from testbed.cli.mistakes import told

        click.echo(told(error, COMMANDS), err=True)
        sys.exit(2)
    except TestbedError as error:
        from testbed.words.printable import printable_lines

        click.echo(printable_lines(f"error: {error}"), err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:  # `testbed run ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if is_interrupt(error):
            click.echo("interrupted", err=True)
            sys.exit(130)
        if not is_edge(error) or os.environ.get(TRACEBACK):
            # A mistake of the testbed's. Python's own status would be 1, which commands say of what they find.
            sys.excepthook(type(error), error, error.__traceback__)
            sys.exit(2)
        from testbed.words.printable import printable_lines

        click.echo(printable_lines(f"error: {edge(error)}"), err=True)
        sys.exit(2)


def _open_closed_streams() -> None:
    """Where a standard stream is closed (``testbed ... >&-``), what is written to it goes nowhere, as to /dev/null."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # in this order each gets the number that it should have
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
