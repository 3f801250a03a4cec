"""A Python function of others, asked so that nothing which it does is our error: an outcome at that snapshot.

What it raises (also `SystemExit`), what it returns in place of a backtrace, and that it never returns: each is why it
stops at the first frame. What it changes of a snapshot is a copy's. Ctrl-C stays the user's.
"""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from testbed.arch import Arch
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.trace import Snapshot
from testbed.words.errors import BrokenAnswer, ToolCrashed, ToolHung, UnwindError
from testbed.words.printable import printable

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
        stop.pc = snapshot.pc
        frame = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")
        return Backtrace((frame,), stop, snapshot.images)

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
