"""System calls about timers: those that are files, ready once a time has come, and those that send signals."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from testbed.process.calls_identity import (
    ABSOLUTE,
    MONOTONIC_CLOCKS,
    PROCESS_TIME,
    REAL,
    REAL_CLOCKS,
    SECOND,
    clock,
    timespec,
)
from testbed.process.open_files import POLL_IN, OpenFile
from testbed.process.signals import MOST_SIGNALS
from testbed.process.state import SIGALRM, SIGPROF, SIGVTALRM, Kernel, KernelCall, Process
from testbed.process.threads import Refusal, SignalTimer, Timer

_TICKING = (*REAL_CLOCKS, *MONOTONIC_CLOCKS)  # also while nobody runs
_ITIMER_SIGNALS = (SIGALRM, SIGVTALRM, SIGPROF)  # of ITIMER_REAL, _VIRTUAL, _PROF
_SEND, _NONE, _THREAD, _TO_THREAD = 0, 1, 2, 4  # SIGEV_SIGNAL, _NONE, _THREAD, _THREAD_ID
_MOST_TIMERS = 256  # of a process


def _told(process: Process, timer: Timer, unit: int = 1, size: int = 0) -> bytes:
    """``struct itimerspec`` or ``itimerval``: how often it goes off, and how long it takes till the next time."""
    left = 0 if timer.left is None else max(timer.left, unit)
    values = (part for time in (timer.every, left) for part in (time // SECOND, time % SECOND // unit))
    return process.pack(*values, size=size)


def _settime(process: Process, timer: Timer, a: tuple[int, ...], size: int) -> None:
    """``(..., flags, new, old)``: 0, the timer set anew; not at all with a time of zero."""
    width = size or process.arch.word
    every, first = timespec(process, a[2], size), timespec(process, a[2] + 2 * width, size)
    process.memory.tell(a[3], _told(process, timer, size=size))
    timer.set(first + (0 if a[1] & ABSOLUTE else timer.now()) if first else None, every)


# Files.


@dataclass(eq=False)
class TimerFile(OpenFile):
    """Reading takes how often its timer has gone off."""

    kernel: Kernel = field(kw_only=True)
    timer: Timer = field(kw_only=True)

    def read(self, size: int) -> bytes:
        if size < 8:
            raise Refusal(errno.EINVAL)
        self._changes += 1
        return self.timer.take().to_bytes(8, "little")

    def polled(self) -> int:
        return POLL_IN * (self.timer.times > 0)

    def ready_at(self, wanted: int) -> int | None:
        left = self.timer.left if wanted & POLL_IN and not self.polled() else None
        return None if left is None else self.kernel.now + left  # else nothing changes till that is read

    @property
    def changes(self) -> int:
        return 2 * self._changes + bool(self.polled())


def timerfd_create(process: Process, a: tuple[int, ...]) -> int:
    """``timerfd_create(clock, flags)``: the number of a timer that is not set."""
    if a[0] not in _TICKING:
        raise Refusal(errno.EINVAL)
    made = TimerFile(os.O_RDWR | a[1] & os.O_NONBLOCK, kernel=process.kernel, timer=Timer(clock(process, a[0])))
    return process.descriptors.add(made, close_on_exec=bool(a[1] & os.O_CLOEXEC))


def _file(process: Process, number: int) -> TimerFile:
    return process.descriptors.of(TimerFile, process.signed(number), errno.EINVAL)


def timerfd_gettime(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``timerfd_gettime(fd, value)``: 0; how often it goes off, and how long it takes till the next time."""
    process.memory.write(a[1], _told(process, _file(process, a[0]).timer, size=size))


def timerfd_settime(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``timerfd_settime(fd, flags, new, old)``: 0, the timer set anew; not at all with a time of zero."""
    file = _file(process, a[0])
    file._changes += 1
    _settime(process, file.timer, a, size)


# Those of which a process has one of a kind.


def _itimer(process: Process, which: int) -> SignalTimer:
    if which >= len(_ITIMER_SIGNALS):
        raise Refusal(errno.EINVAL)
    if ~which not in process.timers:
        now = clock(process, PROCESS_TIME if which else REAL)
        process.timers[~which] = SignalTimer(now, signal=_ITIMER_SIGNALS[which], sleeps=not which)
    return process.timers[~which]


def getitimer(process: Process, a: tuple[int, ...]) -> None:
    """``getitimer(which, value)``: 0; how often it goes off, and how long it takes till the next time."""
    process.memory.write(a[1], _told(process, _itimer(process, a[0]), unit=1000))


def setitimer(process: Process, a: tuple[int, ...]) -> None:
    """``setitimer(which, new, old)``: 0, the timer set anew; not at all with a time of zero."""
    timer = _itimer(process, a[0])
    given = [process.signed(each, 8 * process.arch.word) for each in process.words(a[1], 4)] if a[1] else [0] * 4
    if min(given) < 0 or max(given[1], given[3]) >= SECOND // 1000:
        raise Refusal(errno.EINVAL)
    process.memory.tell(a[2], _told(process, timer, unit=1000))
    every, first = (given[i] * SECOND + given[i + 1] * 1000 for i in (0, 2))
    timer.set(timer.now() + first if first else None, every)


def alarm(process: Process, a: tuple[int, ...]) -> int:
    """``alarm(seconds)``: ITIMER_REAL goes off once; how many seconds were left before, 0 for none."""
    timer = _itimer(process, 0)
    left = 0 if timer.left is None else max(1, (timer.left + SECOND // 2) // SECOND)
    timer.set(timer.now() + a[0] * SECOND if a[0] else None, 0)
    return left


# Those that it makes.


def timer_create(process: Process, a: tuple[int, ...]) -> None:
    """``timer_create(clock, event, number)``: 0, and the number of a timer that is not set; SIGALRM tells of it."""
    now, ticking = clock(process, a[0]), a[0] in _TICKING
    number = next(n for n in range(_MOST_TIMERS + 1) if n not in process.timers)
    if number == _MOST_TIMERS:
        raise Refusal(errno.EAGAIN)
    word, signal, value, thread = process.arch.word, SIGALRM, number, None
    if a[1]:
        value = process.memory.word(a[1], word)
        signal, how, to = (process.signed(process.memory.word(a[1] + word + at, 4)) for at in (0, 4, 8))
        if how & _TO_THREAD:
            thread, how = to, how & ~_TO_THREAD
            if process.thread_numbered(thread) is None:
                raise Refusal(errno.EINVAL)
        if how not in (_SEND, _NONE, _THREAD) or (how != _NONE and not 1 <= signal <= MOST_SIGNALS):
            raise Refusal(errno.EINVAL)
        signal = 0 if how == _NONE else signal
    process.memory.write(a[2], process.pack(number, size=4))
    process.timers[number] = SignalTimer(
        now, signal=signal or None, sleeps=ticking, number=number, value=value, thread=thread
    )


def _timer(process: Process, number: int) -> SignalTimer:
    found = process.timers.get(number) if process.signed(number) >= 0 else None
    if found is None:
        raise Refusal(errno.EINVAL)
    return found


def timer_gettime(process: Process, a: tuple[int, ...], size: int = 0) -> None:
    """``timer_gettime(number, value)``: 0; how often it goes off, and how long it takes till the next time."""
    process.memory.write(a[1], _told(process, _timer(process, a[0]), size=size))


def timer_delete(process: Process, a: tuple[int, ...]) -> None:
    """``timer_delete(number)``: 0, the timer gone; what it sent comes."""
    _timer(process, a[0])
    del process.timers[a[0]]


CALLS: Mapping[str, KernelCall] = {
    "timerfd_create": timerfd_create,
    "timerfd_gettime": timerfd_gettime,
    "timerfd_gettime64": partial(timerfd_gettime, size=8),
    "timerfd_settime": timerfd_settime,
    "timerfd_settime64": partial(timerfd_settime, size=8),
    "getitimer": getitimer,
    "setitimer": setitimer,
    "alarm": alarm,
    "timer_create": timer_create,
    "timer_gettime": timer_gettime,
    "timer_gettime64": partial(timer_gettime, size=8),
    "timer_settime": lambda process, a: _settime(process, _timer(process, a[0]), a, 0),
    "timer_settime64": lambda process, a: _settime(process, _timer(process, a[0]), a, 8),
    "timer_getoverrun": lambda process, a: _timer(process, a[0]).overrun,
    "timer_delete": timer_delete,
}
