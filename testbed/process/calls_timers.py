"""``timerfd``: a file that is ready once a time has come."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from testbed.process.calls_identity import SECOND, timespec
from testbed.process.open_files import POLL_IN, OpenFile
from testbed.process.refusal import Refusal
from testbed.process.state import KernelCall, Process

_REALTIME, _CLOCKS, _ABSOLUTE = 0, (0, 1, 7), 1  # CLOCK_REALTIME; with _MONOTONIC and _BOOTTIME; TFD_TIMER_ABSTIME


@dataclass(eq=False)
class TimerFile(OpenFile):
    """It goes off at ``first``, nanoseconds since 1970, and then ``every`` so many; reading takes how often it did."""

    now: Callable[[], int] = field(kw_only=True)
    clock: int = field(kw_only=True)
    first: int | None = None
    every: int = 0
    taken: int = 0
    _changes: int = 0  # how often it was set or read

    @property
    def _times(self) -> int:
        """How often it has gone off since it was set."""
        if self.first is None or self.now() < self.first:
            return 0
        return 1 + ((self.now() - self.first) // self.every if self.every else 0)

    def set(self, first: int | None, every: int) -> None:
        self._changes += 1
        self.first, self.every, self.taken = first, every, 0

    def read(self, size: int) -> bytes:
        if size < 8:
            raise Refusal(errno.EINVAL)
        new, self.taken = self._times - self.taken, self._times
        self._changes += 1
        return new.to_bytes(8, "little")

    def polled(self) -> int:
        return POLL_IN * (self._times > self.taken)

    def ready_at(self, wanted: int) -> int | None:
        return self.next if wanted & POLL_IN and not self.polled() else None  # nothing changes till that is read

    @property
    def next(self) -> int | None:
        """When it goes off next."""
        times = self._times
        return None if self.first is None or (times and not self.every) else self.first + times * self.every

    @property
    def changes(self) -> int:
        return 2 * self._changes + bool(self.polled())


def timerfd_create(process: Process, a: tuple[int, ...]) -> int:
    """``timerfd_create(clock, flags)``: the number of a timer that is not set."""
    if a[0] not in _CLOCKS:
        raise Refusal(errno.EINVAL)
    kernel = process.kernel
    made = TimerFile(os.O_RDWR | a[1] & os.O_NONBLOCK, now=lambda: kernel.now, clock=a[0])
    return process.descriptors.add(made, close_on_exec=bool(a[1] & os.O_CLOEXEC))


def _timer(process: Process, number: int) -> TimerFile:
    return process.descriptors.of(TimerFile, process.signed(number), errno.EINVAL)


def timerfd_gettime(process: Process, a: tuple[int, ...], size: int = 0) -> int:
    """``timerfd_gettime(fd, value)``: 0; how often it goes off, and how long it takes till the next time."""
    timer = _timer(process, a[0])
    left = 0 if timer.next is None else timer.next - process.now
    told = process.pack(timer.every // SECOND, timer.every % SECOND, left // SECOND, left % SECOND, size=size)
    process.memory.write(a[1], told)
    return 0


def timerfd_settime(process: Process, a: tuple[int, ...], size: int = 0) -> int:
    """``timerfd_settime(fd, flags, new, old)``: 0, the timer set anew; not at all with a time of zero."""
    timer, width = _timer(process, a[0]), size or process.arch.word
    every, first = timespec(process, a[2], size), timespec(process, a[2] + 2 * width, size)
    if a[3]:
        timerfd_gettime(process, (a[0], a[3]), size)
    base = process.now
    if a[1] & _ABSOLUTE:
        base = 0 if timer.clock == _REALTIME else process.now - process.monotonic
    timer.set(base + first if first else None, every)
    return 0


CALLS: Mapping[str, KernelCall] = {
    "timerfd_create": timerfd_create,
    "timerfd_gettime": timerfd_gettime,
    "timerfd_gettime64": partial(timerfd_gettime, size=8),
    "timerfd_settime": timerfd_settime,
    "timerfd_settime64": partial(timerfd_settime, size=8),
}
