"""System calls about open files: reading, writing, seeking, duplicating."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping

from testbed.process.open_files import MOST_AT_ONCE, OpenFile, OpenHostFile, OutputStream, PipeEnd, pipe
from testbed.process.refusal import Refusal
from testbed.process.signals import send, sent_info
from testbed.process.state import SIGPIPE, KernelCall, Process

MOST_PIECES = 1024  # of one readv or writev
_DUPLICATE, _GET_FLAGS, _SET_FLAGS, _GET_STATUS, _SET_STATUS = 0, 1, 2, 3, 4
_LOCKS = (5, 6, 7, 12, 13, 14)  # F_GETLK, F_SETLK, F_SETLKW, and those of 64 bits
_DUPLICATE_CLOSED = 1030
_UNLOCKED = 2
_MOST_ADVICE = 5  # POSIX_FADV_NOREUSE


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
}
