"""Unwinders and programs that others bring in Python: ``package.module:NAME``, and installed entry points.

::

    [project.entry-points."testbed.unwinders"]
    my_unwinder = "my_package.unwinding:MY_UNWINDER"      # an `Unwinder`, or a function Snapshot -> Backtrace

    [project.entry-points."testbed.programs"]
    my_programs = "my_package.programs:FOLDER"            # a folder of sources, or a mapping from names to `Program`

An unwinder from outside that declares no limits is judged as a foreign program is: its honest stops are told as such.
What it raises is an outcome at that snapshot. Its results are not kept: nobody knows what it is made of.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from numbers import Integral
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, NoReturn

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Backtraces, Frame, FrameKind, Unwinder, nothing_found
from testbed.program.model import Program, programs_in
from testbed.trace import Snapshot, Trace
from testbed.words.catalogue import Catalogue, joined, nearest
from testbed.words.errors import BrokenAnswer, TestbedError, ToolCrashed, ToolHung, UnwindError, UsageError
from testbed.words.printable import printable

# A Python function of others, asked so that nothing which it does is our error: an outcome at that snapshot.
#
# What it raises (also `SystemExit`), what it returns in place of a backtrace, and that it never returns: each is why it
# stops at the first frame. What it changes of a snapshot is a copy's. Ctrl-C stays the user's.

SECONDS = 60.0  # for one snapshot: a function may read all tables of a large file at its first one
MOST_HANGS = 3  # then it is not asked any more
MOST_FRAMES = 4096  # of one backtrace, as by the protocol
_TOLD = 300  # characters of an exception's text that are told


class _Late(BaseException):
    """The time is over. No `Exception`: code of others may catch those."""


def guarded(unwind: Callable[[Snapshot], Backtrace], seconds: float = SECONDS) -> Callable[[Snapshot], Backtrace]:
    """The function, which always answers."""
    hangs = 0

    def ask(snapshot: Snapshot) -> Backtrace:
        nonlocal hangs
        stop: UnwindError
        try:
            if hangs >= MOST_HANGS:
                raise ToolHung(f"it is not asked any more: {hangs} times it gave no answer within {seconds:g} s")
            with _within(seconds):
                said = unwind(replace(snapshot, registers=dict(snapshot.registers)))
            return _checked(said, snapshot)
        except UnwindError as error:
            stop = error
        except _Late as error:
            hangs += 1
            stop = ToolHung(f"it gave no answer within {seconds:g} s{_where(error)}")
        except (Exception, SystemExit) as error:
            stop = ToolCrashed(f"it raised {raised(error)}")
        return nothing_found(snapshot, stop)

    return ask


def raised(error: BaseException) -> str:
    """An exception in one line, with the place in the code of others where it was raised."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error}"
    text, where = printable(str(error).partition("\n")[0][:_TOLD]), _where(error)
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = ("/importlib/", "<frozen", str(Path(__file__).parent))
    theirs = [frame for frame in frames if not any(part in frame.filename for part in ours)]
    return f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise `_Late` in code that runs too long, where a timer can be had: in the main thread, when nobody has it."""
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def late(_number: int, _frame: FrameType | None) -> NoReturn:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _checked(said: Any, snapshot: Snapshot) -> Backtrace:
    """What was returned, if it is a backtrace in all its parts. Raises BrokenAnswer."""
    if not isinstance(said, Backtrace):
        raise BrokenAnswer(f"it returned {type(said).__name__}, not a Backtrace")
    if not isinstance(said.frames, tuple | list):
        raise BrokenAnswer(f"the frames that it returned are a {type(said.frames).__name__}, not a tuple")
    if not 0 < len(said.frames) <= MOST_FRAMES:
        raise BrokenAnswer(f"it returned {len(said.frames):,} frames: from 1 to {MOST_FRAMES} are read")
    if said.stopped is not None and not isinstance(said.stopped, UnwindError):
        raise BrokenAnswer(
            f"`stopped` is {type(said.stopped).__name__}: None claims the root, an UnwindError says why not"
        )
    for index, frame in enumerate(said.frames):
        _check_frame(frame, f"frame {index}", snapshot.arch)
    return Backtrace(tuple(said.frames), said.stopped, snapshot.images)


def _check_frame(frame: Any, what: str, arch: Arch) -> None:
    if not isinstance(frame, Frame) or not isinstance(frame.kind, FrameKind):
        raise BrokenAnswer(f"{what} is {type(frame).__name__}: a Frame of a FrameKind is expected")
    _check_number(frame.pc, f"pc of {what}", 8 * arch.word)
    if frame.cfa is not None:
        _check_number(frame.cfa, f"cfa of {what}", 8 * arch.word)
    if not isinstance(frame.registers, Mapping):
        raise BrokenAnswer(f"registers of {what} are {type(frame.registers).__name__}, not a mapping")
    for name, value in frame.registers.items():
        if name not in arch.by_name:
            raise BrokenAnswer(f"{what} has a register {printable(repr(name)[:40])}, which {arch} has not")
        _check_number(value, f"{name} of {what}", arch.by_name[name].bits)


def _check_number(value: Any, what: str, bits: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 <= int(value) < 1 << bits:
        shown = printable(repr(value)[:40]) if isinstance(value, Integral) else type(value).__name__
        raise BrokenAnswer(f"{what} is {shown}: no number of {bits} bits")


UNWINDERS_GROUP, PROGRAMS_GROUP = "testbed.unwinders", "testbed.programs"


def unwinder_at(spec: str) -> Unwinder:
    """The unwinder ``package.module:NAME``, looked for where Python looks, and in the current folder.

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
    """An unwinder from outside, given as an `Unwinder` or as its function. Raises UsageError for anything else."""
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
        repeatable=False,
    )


def with_installed(known: Mapping[str, Unwinder]) -> Mapping[str, Unwinder]:
    """What is known, then the unwinders of installed packages whose entry points have other names.

    Each is loaded when it is asked for, and raises UsageError then where it cannot be.
    """
    entries = [entry for entry in entry_points(group=UNWINDERS_GROUP) if entry.name not in known]
    return joined(known, Catalogue({entry.name: partial(_installed, entry) for entry in entries}))


def installed_programs() -> Mapping[str, Program]:
    """The programs of installed packages. Raises UsageError where an entry point gives none."""
    entries = entry_points(group=PROGRAMS_GROUP)
    return joined(*(programs_of(_loaded(entry), f"the entry point {entry.name}") for entry in entries))


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
    return f"; {nearest(name, known)}" if (known := _unwinders_in(module)) else ", and no Unwinder or function at all"


def _unwinders_in(module: Any) -> list[str]:
    """What of a module can be named: its unwinders; without any its own functions."""
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
