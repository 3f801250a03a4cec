"""System calls about open files: reading, writing, seeking, duplicating, waiting till they are ready."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from testbed.process.calls_identity import SECOND, timespec
from testbed.process.open_files import (
    MOST_AT_ONCE,
    POLL_ERROR,
    POLL_HUNG_UP,
    POLL_IN,
    POLL_OUT,
    OpenFile,
    OpenHostFile,
    OutputStream,
    PipeEnd,
    pipe,
)
from testbed.process.refusal import Refusal
from testbed.process.signals import bit, send, sent_info
from testbed.process.state import SIGKILL, SIGPIPE, SIGSTOP, KernelCall, Process
from testbed.process.threads import MustWait, Wait

MOST_PIECES = 1024  # of one readv or writev
_DUPLICATE, _GET_FLAGS, _SET_FLAGS, _GET_STATUS, _SET_STATUS = 0, 1, 2, 3, 4
_LOCKS = (5, 6, 7, 12, 13, 14)  # F_GETLK, F_SETLK, F_SETLKW, and those of 64 bits
_DUPLICATE_CLOSED = 1030
_UNLOCKED = 2
_MOST_ADVICE = 5  # POSIX_FADV_NOREUSE
_POLL_NONE = 0x20  # POLLNVAL
_MOST_POLLED = 1024
_READS, _WRITES = POLL_IN | POLL_HUNG_UP | POLL_ERROR, POLL_OUT | POLL_ERROR  # what select means by them


def _pieces(process: Process, address: int, count: int) -> Iterator[tuple[int, int]]:
    """The (address, size) of an ``iovec`` array."""
    if count > MOST_PIECES:
        raise Refusal(errno.EINVAL)
    words = process.words(address, 2 * count)
    return zip(words[::2], words[1::2], strict=True)


def read(process: Process, a: tuple[int, ...]) -> int:
    """``read(fd, buffer, count)``: how many bytes were read; 0 at the end."""
    file = process.descriptors[process.signed(a[0])]
    data = file.read(min(a[2], MOST_AT_ONCE))
    process.memory.write(a[1], data)
    return len(data)


def readv(process: Process, a: tuple[int, ...]) -> int:
    """``readv(fd, iov, iovcnt)``: how many bytes were read, into all pieces together."""
    file, done = process.descriptors[process.signed(a[0])], 0
    for address, size in _pieces(process, a[1], a[2]):
        data = file.read(min(size, MOST_AT_ONCE))
        process.memory.write(address, data)
        done += len(data)
        if len(data) < size:
            break
    return done


def write(process: Process, a: tuple[int, ...]) -> int:
    """``write(fd, buffer, count)``: how many bytes were written."""
    file = process.descriptors[process.signed(a[0])]
    return _written(process, file, process.memory.read(a[1], min(a[2], MOST_AT_ONCE)))


def writev(process: Process, a: tuple[int, ...]) -> int:
    """``writev(fd, iov, iovcnt)``: how many bytes were written; EINVAL above the kernel's limit."""
    file = process.descriptors[process.signed(a[0])]
    pieces = list(_pieces(process, a[1], a[2]))
    if sum(size for _, size in pieces) > MOST_AT_ONCE:
        raise Refusal(errno.EINVAL)
    return _written(process, file, b"".join(process.memory.read(address, size) for address, size in pieces))


def _written(process: Process, file: OpenFile, data: bytes) -> int:
    """What is written to a pipe that nobody reads brings SIGPIPE."""
    try:
        return file.write(data)
    except Refusal as refusal:
        if refusal.number == errno.EPIPE:
            info = sent_info(process.arch, process.number, SIGPIPE, 0)
            send(process, process.current, SIGPIPE, info)
        raise


def _host_file(process: Process, number: int) -> OpenHostFile:
    file = process.descriptors[process.signed(number)]
    if not isinstance(file, OpenHostFile):
        raise Refusal(errno.ESPIPE)
    return file


def _cut(process: Process, number: int, size: int) -> int:
    _host_file(process, number).cut(size)
    return 0


def pread64(process: Process, a: tuple[int, ...]) -> int:
    """``pread64(fd, buffer, count, offset)``: how many bytes were read; the position stays."""
    data = _host_file(process, a[0]).read_at(a[2], process.wide(a, 3))
    process.memory.write(a[1], data)
    return len(data)


def pwrite64(process: Process, a: tuple[int, ...]) -> int:
    """``pwrite64(fd, buffer, count, offset)``: how many bytes were written; the position stays."""
    data = process.memory.read(a[1], min(a[2], MOST_AT_ONCE))
    return _host_file(process, a[0]).write_at(data, process.wide(a, 3))


def lseek(process: Process, a: tuple[int, ...]) -> int:
    """``lseek(fd, offset, whence)``: the new position in bytes."""
    file = process.descriptors[process.signed(a[0])]
    return file.seek(process.signed(a[1], 8 * process.arch.word), a[2])


def llseek(process: Process, a: tuple[int, ...]) -> int:
    """``_llseek``: the offset in two words, the high one first; the result goes to memory."""
    file = process.descriptors[process.signed(a[0])]
    at = file.seek(process.signed(a[1] << 32 | a[2], 64), a[4])
    process.memory.write(a[3], process.pack(at, size=8))
    return 0


def close(process: Process, a: tuple[int, ...]) -> int:
    """``close(fd)``: 0, or EBADF."""
    process.descriptors.close(process.signed(a[0]))
    return 0


def dup2(process: Process, a: tuple[int, ...]) -> int:
    """``dup2(old, new)``: the new number; what it stood for is closed."""
    old, new = process.signed(a[0]), process.signed(a[1])
    file = process.descriptors[old]
    if old != new:
        process.descriptors.put(new, file)
    return new


def dup3(process: Process, a: tuple[int, ...]) -> int:
    """``dup3(old, new, flags)``: as ``dup2``, with O_CLOEXEC; EINVAL where both numbers are equal."""
    if process.signed(a[0]) == process.signed(a[1]):
        raise Refusal(errno.EINVAL)
    new = dup2(process, a)
    process.descriptors.keep_on_exec(new, not a[2] & os.O_CLOEXEC)
    return new


def fcntl(process: Process, a: tuple[int, ...]) -> int:
    """``fcntl(fd, command, argument)``: what the command answers; EINVAL for one that is not known."""
    number, command, argument = process.signed(a[0]), a[1], a[2]
    table = process.descriptors
    file = table[number]
    if command in (_DUPLICATE, _DUPLICATE_CLOSED):
        return table.add(file, argument, close_on_exec=command == _DUPLICATE_CLOSED)
    if command == _GET_FLAGS:
        return int(table.closes_on_exec(number))
    if command == _SET_FLAGS:
        table.keep_on_exec(number, not argument & 1)
        return 0
    if command == _GET_STATUS:
        return file.flags & (os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK)
    if command == _SET_STATUS:
        changeable = os.O_APPEND | os.O_NONBLOCK
        file.flags = file.flags & ~changeable | argument & changeable
        return 0
    if command in _LOCKS:  # nobody else has this file
        if command in (_LOCKS[0], _LOCKS[3]):
            process.memory.write(argument, process.pack(_UNLOCKED, size=2))
        return 0
    raise Refusal(errno.EINVAL)


def pipe2(process: Process, a: tuple[int, ...]) -> int:
    """``pipe2(fds, flags)``: 0, and the numbers of both ends at ``fds``."""
    address, flags = a[:2]
    process.memory.write(address, bytes(8))  # EFAULT before anything is open
    ends = pipe(flags & os.O_NONBLOCK)
    numbers = [process.descriptors.add(end, close_on_exec=bool(flags & os.O_CLOEXEC)) for end in ends]
    process.memory.write(address, process.pack(*numbers, size=4))
    return 0


def ioctl(process: Process, a: tuple[int, ...]) -> int:
    """Nothing here is a terminal, so that programs run alike wherever the testbed does."""
    process.descriptors[process.signed(a[0])]
    raise Refusal(errno.ENOTTY)


def sync(process: Process, a: tuple[int, ...]) -> int:
    """``fsync(fd)`` and ``fdatasync(fd)``: 0, since files are written at once; EINVAL for a stream or a pipe."""
    file = process.descriptors[process.signed(a[0])]
    if isinstance(file, OutputStream | PipeEnd):
        raise Refusal(errno.EINVAL)
    return 0


def _advised(process: Process, number: int, advice: int) -> int:
    """What a program says of how it will read: nothing comes of it here."""
    if isinstance(process.descriptors[process.signed(number)], PipeEnd):
        raise Refusal(errno.ESPIPE)
    if advice > _MOST_ADVICE:
        raise Refusal(errno.EINVAL)
    return 0


def _until(
    process: Process, found: Callable[[], int], tell: Callable[[], int], deadline: int | None, mask: int | None = None
) -> int:
    """Wait till ``found`` is not 0, or the deadline; what ``tell`` writes then. ``mask`` holds meanwhile."""
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

    raise MustWait(Wait(lambda: found() > 0, over, deadline, what="poll"))


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

    return _until(process, lambda: sum(map(bool, events())), tell, deadline, mask)


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
            if address:
                process.memory.write(address, each.to_bytes(words * process.arch.word, "little"))
        return sum(each.bit_count() for each in found)

    return _until(process, lambda: sum(ready()), tell, deadline, mask)


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


CALLS: Mapping[str, KernelCall] = {
    "read": read,
    "readv": readv,
    "write": write,
    "writev": writev,
    "pread64": pread64,
    "pwrite64": pwrite64,
    "lseek": lseek,
    "_llseek": llseek,
    "close": close,
    "dup": lambda process, a: process.descriptors.add(process.descriptors[process.signed(a[0])]),
    "dup2": dup2,
    "dup3": dup3,
    "fcntl": fcntl,
    "fcntl64": fcntl,
    "ftruncate": lambda process, a: _cut(process, a[0], process.signed(a[1], 8 * process.arch.word)),
    "ftruncate64": lambda process, a: _cut(process, a[0], process.signed(process.wide(a, 1), 64)),
    "pipe": lambda process, a: pipe2(process, (a[0], 0)),
    "pipe2": pipe2,
    "ioctl": ioctl,
    "fsync": sync,
    "fdatasync": sync,
    "fadvise64": lambda process, a: _advised(process, a[0], a[3]),
    "arm_fadvise64_64": lambda process, a: _advised(process, a[0], a[1]),
    "poll": poll,
    "ppoll": ppoll,
    "ppoll_time64": partial(ppoll, time_size=8),
    "select": select,
    "_newselect": select,
    "pselect6": pselect6,
    "pselect6_time64": partial(pselect6, time_size=8),
}
