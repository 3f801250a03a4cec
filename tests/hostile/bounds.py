"""One input tried: what came of it, and what it cost.

Time is the processor time of this process, so that a busy machine changes nothing. Memory is the highest resident size
while the input was read, less the size before; it is looked at where the process has grown to a new height.
"""

from __future__ import annotations

import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FrameType

from testbed.words.errors import TestbedError, UnwindError
from tests.hostile.target import Target

SECONDS = 20.0  # of processor time for one input
MEMORY_PER_BYTE, MEMORY = 64, 256 << 20  # bytes of memory that an input of n bytes may cost: 64 n + 256 MB
_GROWTH = 48 << 20  # bytes by which the process has to have grown before an input is measured by itself
_ROOT = Path(__file__).parents[2]


class Fate(Enum):
    """What came of an input."""

    READ = "read"
    REFUSED = "refused"  # by a typed error
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one input. ``failure``: the kind of failure, the same for inputs that fail for one reason."""

    fate: Fate
    seconds: float
    memory: int = 0
    failure: str = ""
    told: str = ""


class TooLong(BaseException):
    """An input took more than its time. No reader catches this."""


def memory_allowed(size: int) -> int:
    """Bytes of memory that reading an input of ``size`` bytes may take."""
    return MEMORY_PER_BYTE * size + MEMORY


def try_input(target: Target, content: bytes, *, seconds: float = SECONDS) -> Tried:
    """Give an input to a target. Its memory is measured only where the process grew by it."""
    before = _peak()
    tried = _once(target, content, seconds)
    if _peak() - before > _GROWTH and tried.fate is not Fate.FAILED:
        return _measured(target, content, seconds)
    return tried


def _measured(target: Target, content: bytes, seconds: float) -> Tried:
    """The input once more, with the height of memory counted from here."""
    _forget_peak()
    before = _in_status("VmRSS")
    tried = _once(target, content, seconds)
    memory = max(0, _in_status("VmHWM") - before)
    _forget_peak()
    if tried.fate is not Fate.FAILED and memory > memory_allowed(len(content)):
        return Tried(Fate.FAILED, tried.seconds, memory, "memory", f"{memory >> 20} MB for {len(content)} bytes")
    return Tried(tried.fate, tried.seconds, memory, tried.failure, tried.told)


def _once(target: Target, content: bytes, seconds: float) -> Tried:
    started = _cpu()
    try:
        with _at_most(seconds):
            target.read(content)
    except (TestbedError, UnwindError):
        return Tried(Fate.REFUSED, _cpu() - started)
    except TooLong as error:
        return Tried(Fate.FAILED, _cpu() - started, 0, f"time {_place(error)}", traceback.format_exc())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, target.allowed):
            return Tried(Fate.REFUSED, _cpu() - started)
        kind = str(getattr(error, "kind", "")) or f"{type(error).__name__} {_place(error)}"
        return Tried(Fate.FAILED, _cpu() - started, 0, kind, traceback.format_exc(limit=-30))
    return Tried(Fate.READ, _cpu() - started)


def _cpu() -> float:
    """Processor time of this process, and of those that it started and waited for."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def _place(error: BaseException) -> str:
    """Where in the project it came from: the innermost module and function of ours."""
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT) and "hostile" not in path.parts:
            found = f"{path.relative_to(_ROOT).as_posix()} {frame.name}"
    return found or "outside"


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TooLong inside, once so much processor time has passed; again and again, should it be swallowed."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _forget_peak() -> None:
    """The height of memory begins anew, at what is in use now (Linux, proc_pid_clear_refs(5))."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _in_status(key: str) -> int:
    """A size of this process in bytes, as the kernel says it; 0 where it says none."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) << 10
    return 0
