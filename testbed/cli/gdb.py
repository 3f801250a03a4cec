"""``testbed gdb``: a recorded run in gdb, which moves in it forward and backward."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

import click

from testbed.cli.options import NamedRun, at_option, port_option, takes
from testbed.cli.terminal import status
from testbed.referee.process.without_tables import file_of
from testbed.remote import Replay, listen, serve
from testbed.remote.gdb_targets import GDB_TARGETS
from testbed.runs.run import Run
from testbed.words.errors import ToolchainMissing

_DEBUGGER = "gdb-multiarch"
_SETTINGS = (
    "set confirm off",
    "set debuginfod enabled off",
    "set osabi GNU/Linux",  # these files do not say it, and how signal frames look depends on it
    "set backtrace past-main on",
)


@click.command("gdb", context_settings={"ignore_unknown_options": True})
@takes(NamedRun)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@at_option
@click.option("--serve", "serving", is_flag=True, help="Start no gdb: print the command to type, and wait for it.")
@port_option
def command(named: NamedRun, arguments: tuple[str, ...], location: str | None, serving: bool, port: int) -> None:
    """Open the recorded run of PROGRAM in gdb, at LOCATION.

    gdb's stepi, nexti, continue, breakpoints and watchpoints move in recorded time, and so do reverse-stepi and
    reverse-continue; `monitor step` says where this is. What was recorded cannot be changed. What follows `--` is
    given to gdb: testbed gdb leaf_call --at leaf -- -batch -ex bt
    """
    if not serving and shutil.which(_DEBUGGER) is None:
        raise ToolchainMissing(_DEBUGGER, f"apt install {_DEBUGGER}, or use --serve and any gdb that knows the target")
    with status(f"building and running {named.program}"):
        run = named.run()
    step = run.step_at(location or "@0")
    listener = listen(port)
    typed = _gdb_command(run, listener.getsockname()[1], arguments)
    if not serving:
        threading.Thread(target=serve, args=(listener, lambda: Replay(run.trace, step).answer), daemon=True).start()
        sys.exit(_foreground(typed))
    click.echo(shlex.join(typed))
    click.echo(f"serving {run} from step @{step}; end with Ctrl-C", err=True)
    serve(listener, lambda: Replay(run.trace, step).answer)


def _gdb_command(run: Run, port: int, arguments: Sequence[str]) -> list[str]:
    """gdb's command line. It reads no Mach-O file: of those it gets the architecture only."""
    image = run.built.image
    readable = image.content[:4] == b"\x7fELF"
    settings = _SETTINGS if readable else (*_SETTINGS, f"set architecture {GDB_TARGETS[run.arch.name].architecture}")
    file = [str(file_of(image))] if readable else []
    first = [part for setting in settings for part in ("-iex", setting)]
    return [_DEBUGGER, "-q", *first, *file, "-ex", f"target remote 127.0.0.1:{port}", *arguments]


def _foreground(typed: Sequence[str]) -> int:
    """Run gdb; an interrupt is for it alone. Its exit status."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(typed, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
