"""System calls that wait till one of several open files is ready, and those that make what is waited for.

All of them ask one question: `OpenFile.polled`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from testbed.process.calls_identity import SECOND, timespec
from testbed.process.channels import EDGE, ONCE, Awaited, Epoll, EventCount
from testbed.process.open_files import POLL_ERROR, POLL_HUNG_UP, POLL_IN, POLL_OUT, OpenFile
from testbed.process.signals import bit
from testbed.process.state import SIGKILL, SIGSTOP, KernelCall, Process
from testbed.process.threads import MustWait, Refusal, Wait

_POLL_NONE = 0x20  # POLLNVAL
_MOST_POLLED = 1024
_READS, _WRITES = POLL_IN | POLL_HUNG_UP | POLL_ERROR, POLL_OUT | POLL_ERROR  # what select means by them
_ADD, _DELETE, _MODIFY = 1, 2, 3


def _until(
    process: Process,
    found: Callable[[], int],
    tell: Callable[[], int],
    deadline: int | None,
    mask: int | None,
    asked: Callable[[], Iterable[tuple[OpenFile, int]]],
) -> int:
    """Wait till ``found`` is not 0, or the deadline; what ``tell`` writes then. ``mask`` holds meanwhile.

    ``asked`` are the files, and what is wanted of each.
    """
    thread = process.current
    if found() or (deadline is not None and deadline <= process.now):
        return tell()
    if mask is not None:
        thread.saved_mask, thread.mask = thread.mask, mask & ~(bit(SIGKILL) | bit(SIGSTOP))

    def over(timed_out: bool) -> int:
        ready = found()
        if thread.saved_mask is not None and (ready or timed_out):  # else a handler's frame has it
            thread.mask, thread.saved_mask = thread.saved_mask, None
        return tell()

    def ready_at() -> int | None:
        return min((at for file, wanted in asked() if (at := file.ready_at(wanted)) is not None), default=None)

    raise MustWait(Wait(lambda: found() > 0, over, deadline, what="poll", ready_at=ready_at))


def _deadline(process: Process, address: int, size: int = 0) -> int | None:
    """The time until which a ``timespec`` lets a call wait; None: for ever."""
    return process.now + timespec(process, address, size) if address else None


def _mask(process: Process, address: int) -> int | None:
    return process.memory.word(address, 8) if address else None


def _polled(process: Process, number: int, wanted: int) -> int:
    if number not in process.descriptors:
        return _POLL_NONE
    return process.descriptors[number].polled() & (wanted | POLL_ERROR | POLL_HUNG_UP)


def _poll(process: Process, a: tuple[int, ...], deadline: int | None, mask: int | None = None) -> int:
    at = [a[0] + 8 * i for i in range(min(a[1], _MOST_POLLED))]
    asked = [(process.signed(process.memory.word(each, 4)), process.memory.word(each + 4, 2)) for each in at]

    def events() -> list[int]:
        return [_polled(process, number, wanted) if number >= 0 else 0 for number, wanted in asked]

    def tell() -> int:
        told = events()
        for address, each in zip(at, told, strict=True):
            process.memory.write(address + 6, process.pack(each, size=2))
        return sum(map(bool, told))

    def files() -> Iterator[tuple[OpenFile, int]]:
        return ((process.descriptors[n], wanted) for n, wanted in asked if n in process.descriptors)

    return _until(process, lambda: sum(map(bool, events())), tell, deadline, mask, files)


def poll(process: Process, a: tuple[int, ...]) -> int:
    """``poll(fds, count, milliseconds)``: how many descriptors are ready, 0 once the time is over.

    It waits until then.
    """
    milliseconds = process.signed(a[2])
    return _poll(process, a, None if milliseconds < 0 else process.now + milliseconds * 1_000_000)


def ppoll(process: Process, a: tuple[int, ...], time_size: int = 0) -> int:
    """``ppoll(fds, count, time, mask)``: as ``poll``; a signal mask is in force while it waits."""
    return _poll(process, a, _deadline(process, a[2], time_size), _mask(process, a[3]))


def _select(process: Process, a: tuple[int, ...], deadline: int | None, mask: int | None = None) -> int:
    """Three sets of descriptors, a bit for each; the third, for what is out of order, is always empty here."""
    word = 8 * process.arch.word
    words = -(-min(process.signed(a[0]), _MOST_POLLED) // word)
    sets = [
        sum(value << word * i for i, value in enumerate(process.words(each, words))) if each else 0 for each in a[1:4]
    ]
    for number in _numbers(sets[0] | sets[1] | sets[2]):
        process.descriptors[number]  # EBADF

    def ready() -> list[int]:
        kinds = zip(sets, (_READS, _WRITES, 0), strict=True)
        return [sum(1 << n for n in _numbers(each) if _polled(process, n, kind) & kind) for each, kind in kinds]

    def tell() -> int:
        found = ready()
        for address, each in zip(a[1:4], found, strict=True):
            process.memory.tell(address, each.to_bytes(words * process.arch.word, "little"))
        return sum(each.bit_count() for each in found)

    def files() -> Iterator[tuple[OpenFile, int]]:
        every = ((n, kind) for each, kind in zip(sets, (_READS, _WRITES), strict=False) for n in _numbers(each))
        return ((process.descriptors[n], kind) for n, kind in every if n in process.descriptors)

    return _until(process, lambda: sum(ready()), tell, deadline, mask, files)


def _numbers(descriptors: int) -> Iterator[int]:
    return (n for n in range(descriptors.bit_length()) if descriptors >> n & 1)


def select(process: Process, a: tuple[int, ...]) -> int:
    """``select(count, read, write, except, time)``: how many descriptors are ready, and the sets of these."""
    if not a[4]:
        return _select(process, a, None)
    seconds, rest = process.words(a[4], 2)
    return _select(process, a, process.now + seconds * SECOND + rest * 1000)


def pselect6(process: Process, a: tuple[int, ...], time_size: int = 0) -> int:
    """``pselect6(count, read, write, except, time, mask)``: as ``select``; a signal mask is in force while it waits."""
    mask = process.words(a[5], 1)[0] if a[5] else 0
    return _select(process, a, _deadline(process, a[4], time_size), _mask(process, mask))


# Sets that are kept between questions, and counters.


def epoll_create(process: Process, a: tuple[int, ...]) -> int:
    """``epoll_create1(flags)``: the number of an empty set."""
    made = Epoll(os.O_RDWR, run=process.kernel.epolls)
    return process.descriptors.add(made, close_on_exec=bool(a[0] & os.O_CLOEXEC))


def _epoll(process: Process, number: int) -> Epoll:
    return process.descriptors.of(Epoll, process.signed(number), errno.EINVAL)


def epoll_ctl(process: Process, a: tuple[int, ...]) -> None:
    """``epoll_ctl(epoll, operation, fd, event)``: 0, the descriptor added, changed or taken away."""
    epoll, operation, number = _epoll(process, a[0]), a[1], process.signed(a[2])
    file = process.descriptors[number]
    if operation == _DELETE:
        epoll.remove(number, file)
        return
    events = process.memory.word(a[3], 4)
    each = Awaited(file, events, process.memory.read(a[3] + process.abi.event_data, 8))
    if operation == _MODIFY:
        epoll.remove(number, file)
    elif operation != _ADD:
        raise Refusal(errno.EINVAL)
    epoll.add(number, each)


def _epoll_wait(process: Process, a: tuple[int, ...], deadline: int | None, mask: int | None = None) -> int:
    epoll, most = _epoll(process, a[0]), process.signed(a[2])
    if most <= 0:
        raise Refusal(errno.EINVAL)

    def tell() -> int:
        found = [each for each, _ in zip(epoll.ready(), range(most), strict=False)]
        pad = bytes(process.abi.event_data - 4)
        told = b"".join(process.pack(each.ready, size=4) + pad + each.data for each in found)
        process.memory.write(a[1], told)
        for each in found:
            each.told_at = each.file.changes
            if each.events & ONCE:
                each.events &= EDGE | ONCE  # nothing, till it is changed
        return len(found)

    return _until(process, epoll.polled, tell, deadline, mask, lambda: [(epoll, POLL_IN)])


def epoll_pwait(process: Process, a: tuple[int, ...]) -> int:
    """``epoll_pwait(epoll, events, count, milliseconds, mask)``: a signal mask is in force while it waits."""
    milliseconds = process.signed(a[3])
    deadline = None if milliseconds < 0 else process.now + milliseconds * 1_000_000
    return _epoll_wait(process, a, deadline, _mask(process, a[4]))


def eventfd(process: Process, a: tuple[int, ...]) -> int:
    """``eventfd2(count, flags)``: the number of a counter."""
    flags = os.O_RDWR | a[1] & os.O_NONBLOCK
    made = EventCount(flags, count=a[0] & 0xFFFF_FFFF, semaphore=bool(a[1] & 1))
    return process.descriptors.add(made, close_on_exec=bool(a[1] & os.O_CLOEXEC))


CALLS: Mapping[str, KernelCall] = {
    "poll": poll,
    "ppoll": ppoll,
    "ppoll_time64": partial(ppoll, time_size=8),
    "select": select,
    "_newselect": select,
    "pselect6": pselect6,
    "pselect6_time64": partial(pselect6, time_size=8),
    "epoll_create": lambda process, a: epoll_create(process, (0,)),
    "epoll_create1": epoll_create,
    "epoll_ctl": epoll_ctl,
    "epoll_wait": lambda process, a: epoll_pwait(process, (*a[:4], 0)),
    "epoll_pwait": epoll_pwait,
    "eventfd": lambda process, a: eventfd(process, (a[0], 0)),
    "eventfd2": eventfd,
}
