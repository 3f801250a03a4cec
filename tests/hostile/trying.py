"""Many inputs for a target, in a process of its own: a crash or a hang costs one input and not the rest.

The process says through a pipe what came of each input, so the one that a dead process was at is the next one. It
follows from its number, and is made again.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from testbed.words.errors import TestbedError, UnwindError
from tests.hostile.real import folder
from tests.hostile.target import Target, numbered_input

# One input tried: what came of it, and what it cost.
#
# Time is the processor time of this process, so that a busy machine changes nothing. Memory is the highest resident
# size while the input was read, less the size before; it is looked at where the process has grown to a new height.


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


_ADDRESS_SPACE = 16 << 30  # bytes that a process may map: an input that wants more does not take the machine along
_WALL = 6 * SECONDS  # seconds without any processor time that are taken for a hang


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that failed: its number (with the seed, the input itself), why, and what was said."""

    number: int
    kind: str
    told: str


@dataclass
class Tally:
    """What came of the inputs of one target so far; ``worst`` are those that cost most and were read or refused."""

    target: str
    counts: Counter[Fate] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)  # the first of each kind
    seconds: float = 0.0
    worst_seconds: float = 0.0
    worst_memory: int = 0

    @property
    def inputs(self) -> int:
        return sum(self.counts.values())

    def take(self, number: int, one: Tried) -> None:
        """Count one input."""
        self.counts[one.fate] += 1
        self.seconds += one.seconds
        if one.fate is Fate.FAILED:
            self.add(Tally(self.target, failures=[Failure(number, one.failure, one.told)]))
        else:
            self.worst_seconds = max(self.worst_seconds, one.seconds)
            self.worst_memory = max(self.worst_memory, one.memory)

    def add(self, more: Tally) -> None:
        self.counts += more.counts
        known = {failure.kind for failure in self.failures}
        for failure in more.failures:
            if failure.kind not in known:
                known.add(failure.kind)
                self.failures.append(failure)
        self.seconds += more.seconds
        self.worst_seconds = max(self.worst_seconds, more.worst_seconds)
        self.worst_memory = max(self.worst_memory, more.worst_memory)


def tried(target: Target, seed: int, first: int, count: int, until: float | None = None) -> Tally:
    """What comes of inputs ``first`` to ``first + count``, or of as many as there is time for (``time.monotonic``)."""
    folder(), target.seeds()  # once, before processes are forked
    total = Tally(target.name)
    at, end, died = first, first + count, "not yet"
    while died and at < end and (until is None or time.monotonic() < until):
        at, died = _in_process(target, seed, at, end, until, total)
        if died:
            total.take(at, Tried(Fate.FAILED, 0.0, 0, died, died))
            at += 1
    return total


def _in_process(target: Target, seed: int, first: int, end: int, until: float | None, total: Tally) -> tuple[int, str]:
    """One process over inputs, until it is through or dies: which is behind the last it told of, and how it died."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(target, seed, first, end, until, theirs), daemon=True)
    child.start()
    theirs.close()
    at, hung = _collected(ours, total, first, lambda: _cpu_of(child.pid))
    if hung:
        child.kill()
    child.join()
    code = child.exitcode or 0
    how = f"crash: {signal.Signals(-code).name if code < 0 else f'exit status {code}'}" if code else ""
    return at, "hang: no processor time used, or no signal taken" if hung else how


def _collected(pipe: Connection, total: Tally, at: int, cpu: Callable[[], float]) -> tuple[int, bool]:
    """Count what a process says until it ends: the input behind the last one, and whether it does not get on."""
    used, since = cpu(), time.monotonic()
    with suppress(EOFError, OSError):
        while cpu() - used <= 2 * SECONDS and time.monotonic() - since <= _WALL:
            if pipe.poll(1.0):
                total.take(at, pipe.recv())
                at, used, since = at + 1, cpu(), time.monotonic()
        return at, True
    return at, False


def _cpu_of(pid: int | None) -> float:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _work(target: Target, seed: int, first: int, end: int, until: float | None, pipe: Connection) -> None:
    """The process: every input in turn."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    seeds = target.seeds()
    for number in range(first, end):
        if until is not None and time.monotonic() >= until:
            break
        pipe.send(try_input(target, numbered_input(target, seeds, seed, number)))
    pipe.close()
    os._exit(0)  # without the hooks of the process that it was forked from
