"""Strategies and programs that others bring in Python: ``package.module:NAME``, and installed entry points.

::

    [project.entry-points."testbed.unwinders"]
    my_unwinder = "my_package.unwinding:MY_UNWINDER"      # an `Unwinder`, or a function Snapshot -> Backtrace

    [project.entry-points."testbed.programs"]
    my_programs = "my_package.programs:FOLDER"            # a folder of sources, or a mapping from names to `Program`

A strategy from outside that declares no limits is judged as a foreign program is: its honest stops are told as such.
What it raises is an outcome at that snapshot. Its results are not kept: nobody knows what it is made of.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, wraps
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FunctionType
from typing import Any

from testbed.cli.guarded import guarded, raised
from testbed.contract.backtraces import Backtraces
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program, programs_in
from testbed.protocol.foreign_unwinder import HONEST_STOPS
from testbed.trace import Trace
from testbed.words.catalogue import Catalogue, joined
from testbed.words.errors import TestbedError, UsageError
from testbed.words.nearest import nearest

UNWINDERS_GROUP, PROGRAMS_GROUP = "testbed.unwinders", "testbed.programs"


def strategy_at(spec: str) -> Unwinder:
    """The strategy ``package.module:NAME``, looked for where Python looks, and in the current folder.

    Raises UsageError where there is none, or the module cannot be imported.
    """
    module, _, name = spec.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise UsageError(f"-u {spec}: package.module:NAME is expected")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"-u {spec}: {module} cannot be imported: {raised(error)}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"-u {spec}: {module} has no {name}{_instead(name, found)}")
        found = getattr(found, part)
    return brought(found, f"-u {spec}")


def brought(value: Any, called: str, name: str | None = None) -> Unwinder:
    """A strategy from outside, given as an `Unwinder` or as its function. Raises UsageError for anything else."""
    if isinstance(value, Unwinder):
        unwinder = value
    elif callable(value) and not isinstance(value, type):
        given = getattr(value, "__name__", type(value).__name__)
        unwinder = Unwinder(name=given, summary=f"from outside: {called}", unwind=value)
    else:
        raise UsageError(f"{called}: it is {type(value).__name__}, not an Unwinder or a function Snapshot -> Backtrace")
    return replace(
        unwinder,
        name=name or unwinder.name,
        unwind=guarded(unwinder.unwind),
        unwind_trace=None if unwinder.unwind_trace is None else _told(unwinder.unwind_trace, called),
        limits=unwinder.limits or HONEST_STOPS,
        repeatable=False,
    )


def with_installed(known: Mapping[str, Unwinder]) -> Mapping[str, Unwinder]:
    """What is known, then the strategies of installed packages whose entry points have other names.

    Each is loaded when it is asked for, and raises UsageError then where it cannot be.
    """
    entries = [entry for entry in entry_points(group=UNWINDERS_GROUP) if entry.name not in known]
    return joined(known, Catalogue({entry.name: partial(_installed, entry) for entry in entries}))


def installed_programs() -> Mapping[str, Program]:
    """The programs of installed packages. Raises UsageError where an entry point gives none."""
    return joined(*(programs_of(_loaded(entry), f"the entry point {entry.name}") for entry in _programs_entries()))


def _programs_entries() -> list[EntryPoint]:
    return list(entry_points(group=PROGRAMS_GROUP))


def programs_of(value: Any, called: str) -> Mapping[str, Program]:
    """The programs that a folder holds, or a mapping. Raises UsageError."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str | Path):
        raise UsageError(f"{called}: it is {type(value).__name__}, not a folder or a mapping of programs")
    folder = Path(value)
    if not folder.is_dir():
        raise UsageError(f"{called}: there is no folder {folder}")
    if not (found := programs_in(folder)):
        raise UsageError(f"{called}: {folder} has no NAME.c, NAME.cc or NAME.ISA.S (programs/README.md)")
    return found


def _installed(entry: EntryPoint) -> Unwinder:
    return brought(_loaded(entry), f"the entry point {entry.name}", entry.name)


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise UsageError(f"the entry point {entry.name} ({entry.value}) cannot be loaded: {raised(error)}") from error


def _instead(name: str, module: Any) -> str:
    """What of it can be named."""
    return f"; {nearest(name, known)}" if (known := _strategies_in(module)) else ", and no Unwinder or function at all"


def _strategies_in(module: Any) -> list[str]:
    """What of a module can be named: its strategies; without any its own functions."""
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    functions = [name for name, value in own.items() if isinstance(value, FunctionType)]
    return [name for name, value in vars(module).items() if isinstance(value, Unwinder)] or functions


def _told(unwind_trace: Callable[[Trace], Backtraces], called: str) -> Callable[[Trace], Backtraces]:
    @wraps(unwind_trace)
    def ask(trace: Trace) -> Backtraces:
        try:
            return unwind_trace(trace)
        except Exception as error:  # of code that is not ours
            raise TestbedError(f"{called}: its unwind_trace raised {raised(error)}") from error

    return ask
