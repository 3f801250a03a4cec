"""System calls about open files: reading, writing, seeking, duplicating."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from testbed.process.channels import PipeEnd, pipe
from testbed.process.open_files import (
    MOST_AT_ONCE,
    POLL_ERROR,
    POLL_HUNG_UP,
    POLL_IN,
    POLL_OUT,
    WHOLE_FILE,
    FileLock,
    OpenFile,
    OpenFolder,
    OpenHostFile,
)
from testbed.process.signals import send, sent_info
from testbed.process.sockets import Socket
from testbed.process.state import SIGPIPE, KernelCall, Process
from testbed.process.threads import MustWait, Refusal, Wait

MOST_PIECES = 1024  # of one readv or writev
_DUPLICATE, _GET_FLAGS, _SET_FLAGS, _GET_STATUS, _SET_STATUS = 0, 1, 2, 3, 4
_LOCKS = {5: 0, 6: 1, 7: 2, 12: 0, 13: 1, 14: 2}  # F_GETLK, F_SETLK, F_SETLKW, and those of 64 bits
_ASK, _TRY, _WAIT = range(3)
_DUPLICATE_CLOSED = 1030
_SHARED, _ALONE, _UNLOCKED = range(3)  # F_RDLCK, F_WRLCK, F_UNLCK
_MOST_ADVICE = 5  # POSIX_FADV_NOREUSE
_CLOSE_ON_EXEC, _KEEP_ON_EXEC, _NO_WAITING, _HOW_MUCH = 0x5451, 0x5450, 0x5421, 0x541B  # FIOCLEX ... FIONREAD


def pieces(process: Process, address: int, count: int) -> Iterator[tuple[int, int]]:
    """The (address, size) of an ``iovec`` array."""
    if count > MOST_PIECES:
        raise Refusal(errno.EINVAL)
    words = process.words(address, 2 * count)
    return zip(words[::2], words[1::2], strict=True)


def ready(file: OpenFile, wanted: int, *, at_once: bool = False, what: str) -> None:
    """Go on where an open file is ready for what is wanted of it; else wait, or refuse (EAGAIN) if nobody may."""
    wanted |= POLL_HUNG_UP | POLL_ERROR
    if not file.polled() & wanted:
        if at_once or file.flags & os.O_NONBLOCK:
            raise Refusal(errno.EAGAIN)
        at = partial(file.ready_at, wanted)
        raise MustWait(Wait(lambda: bool(file.polled() & wanted), restart=True, what=what, ready_at=at))


def take(file: OpenFile, size: int) -> bytes:
    """Bytes of an open file, once there are any."""
    if size:
        ready(file, POLL_IN, what="read")
    return file.read(min(size, MOST_AT_ONCE))


def read(process: Process, a: tuple[int, ...]) -> int:
    """``read(fd, buffer, count)``: how many bytes were read; 0 at the end."""
    data = take(process.descriptors.file(process.signed(a[0]), os.O_WRONLY), a[2])
    return process.memory.write(a[1], data)


def readv(process: Process, a: tuple[int, ...]) -> int:
    """``readv(fd, iov, iovcnt)``: how many bytes were read, into all pieces together."""
    file = process.descriptors.file(process.signed(a[0]), os.O_WRONLY)
    places = list(pieces(process, a[1], a[2]))
    data, at = take(file, sum(size for _, size in places)), 0
    for address, size in places:
        process.memory.write(address, data[at : at + size])
        at += size
    return len(data)


def write(process: Process, a: tuple[int, ...]) -> int:
    """``write(fd, buffer, count)``: how many bytes were written."""
    file = process.descriptors.file(process.signed(a[0]), os.O_RDONLY)
    return written(process, file, process.memory.read(a[1], min(a[2], MOST_AT_ONCE)))


def writev(process: Process, a: tuple[int, ...]) -> int:
    """``writev(fd, iov, iovcnt)``: how many bytes were written; EINVAL above the kernel's limit."""
    file = process.descriptors.file(process.signed(a[0]), os.O_RDONLY)
    places = list(pieces(process, a[1], a[2]))
    if sum(size for _, size in places) > MOST_AT_ONCE:
        raise Refusal(errno.EINVAL)
    return written(process, file, b"".join(process.memory.read(address, size) for address, size in places))


def written(
    process: Process,
    file: OpenFile,
    data: bytes,
    *,
    at_once: bool = False,
    silent: bool = False,
    put: Callable[[bytes], int] | None = None,
) -> int:
    """Write once there is room. What is written to what nobody reads brings SIGPIPE, unless that is ``silent``."""
    try:
        ready(file, POLL_OUT, at_once=at_once, what="write")
        return (put or file.write)(data)
    except Refusal as refusal:
        if refusal.number == errno.EPIPE and not silent:
            info = sent_info(process.arch, process.number, SIGPIPE, 0)
            send(process, process.current, SIGPIPE, info)
        raise


def _cut(process: Process, number: int, size: int) -> None:
    file = process.descriptors[process.signed(number)]
    if file.flags & os.O_ACCMODE == os.O_RDONLY:
        raise Refusal(errno.EINVAL)
    file.cut(size)


def fallocate(process: Process, a: tuple[int, ...]) -> None:
    """``fallocate(fd, mode, offset, size)``: 0, the file as long as that at least; EOPNOTSUPP for a mode."""
    file = process.descriptors.file(process.signed(a[0]), os.O_RDONLY)
    start, size = (process.signed(process.wide(a, at), 64) for at in (2, 4 if process.abi.split else 3))
    if a[1]:
        raise Refusal(errno.EOPNOTSUPP)
    if start < 0 or size <= 0:
        raise Refusal(errno.EINVAL)
    file.cut(max(file.size, start + size))


def pread64(process: Process, a: tuple[int, ...]) -> int:
    """``pread64(fd, buffer, count, offset)``: how many bytes were read; the position stays."""
    data = process.descriptors.file(process.signed(a[0]), os.O_WRONLY).read_at(a[2], process.wide(a, 3))
    return process.memory.write(a[1], data)


def pwrite64(process: Process, a: tuple[int, ...]) -> int:
    """``pwrite64(fd, buffer, count, offset)``: how many bytes were written; the position stays."""
    data = process.memory.read(a[1], min(a[2], MOST_AT_ONCE))
    return process.descriptors.file(process.signed(a[0]), os.O_RDONLY).write_at(data, process.wide(a, 3))


def lseek(process: Process, a: tuple[int, ...]) -> int:
    """``lseek(fd, offset, whence)``: the new position in bytes."""
    file = process.descriptors[process.signed(a[0])]
    return file.seek(process.signed(a[1], 8 * process.arch.word), a[2])


def llseek(process: Process, a: tuple[int, ...]) -> None:
    """``_llseek``: the offset in two words, the high one first; the result goes to memory."""
    file = process.descriptors[process.signed(a[0])]
    at = file.seek(process.signed(a[1] << 32 | a[2], 64), a[4])
    process.memory.write(a[3], process.pack(at, size=8))


def close(process: Process, a: tuple[int, ...]) -> None:
    """``close(fd)``: 0, or EBADF."""
    number = process.signed(a[0])
    file = process.descriptors[number]
    process.descriptors.close(number)
    if isinstance(file, OpenHostFile):
        process.kernel.locks.put(file.node.path, FileLock(process.number, alone=True), locked=False)


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
    if command in _LOCKS:
        wide = process.arch.word == 8 or command > max(_LOCKS) - 3
        _lock_bytes(process, file, _LOCKS[command], argument, 8 if wide else 4)
        return 0
    raise Refusal(errno.EINVAL)


def _lock(process: Process, file: OpenFile, wanted: FileLock, kind: int, *, at_once: bool) -> None:
    """Lock, or free, bytes of a file for an owner, once nobody else keeps them. Raises Refusal (EAGAIN)."""
    locks, path = process.kernel.locks, file.node.path if isinstance(file, OpenHostFile | OpenFolder) else ""
    if path and kind != _UNLOCKED and locks.against(path, wanted):
        if at_once:
            raise Refusal(errno.EAGAIN)
        raise MustWait(Wait(lambda: not locks.against(path, wanted), restart=True, what="a lock on a file"))
    if path:
        locks.put(path, wanted, locked=kind != _UNLOCKED)


def flock(process: Process, a: tuple[int, ...]) -> None:
    """``flock(fd, operation)``: 0; the open file has a lock, shared (1), alone (2) or none (8); EWOULDBLOCK with 4."""
    kind = {1: _SHARED, 2: _ALONE, 8: _UNLOCKED}.get(a[1] & ~4)
    file = process.descriptors[process.signed(a[0])]
    if kind is None:
        raise Refusal(errno.EINVAL)
    _lock(process, file, FileLock(file, kind == _ALONE), kind, at_once=bool(a[1] & 4))


def _lock_bytes(process: Process, file: OpenFile, how: int, address: int, size: int) -> None:
    """``struct flock``: kind and whence, of 2 bytes, then start and length of ``size`` bytes, and a process."""
    kind, whence = (process.memory.word(address + 2 * i, 2) for i in range(2))
    start, length = (process.signed(process.memory.word(address + size + size * i, size), 8 * size) for i in range(2))
    start += (0, file.seek(0, os.SEEK_CUR) if whence == 1 else 0, file.size)[whence % 3]
    first, end = sorted((start, start + length)) if length else (start, WHOLE_FILE)
    if kind > _UNLOCKED or whence > 2 or first < 0:
        raise Refusal(errno.EINVAL)
    needed = (os.O_RDONLY, os.O_WRONLY, None)[kind]
    if how != _ASK and needed is not None and file.flags & os.O_ACCMODE not in (needed, os.O_RDWR):
        raise Refusal(errno.EBADF)
    wanted = FileLock(process.number, kind == _ALONE, first, end)
    if how != _ASK:
        _lock(process, file, wanted, kind, at_once=how == _TRY)
        return
    other = process.kernel.locks.against(file.node.path, wanted) if isinstance(file, OpenHostFile) else None
    process.memory.write(address, process.pack(_UNLOCKED if other is None else int(other.alone), size=2))
    if other is not None:
        length = 0 if other.end == WHOLE_FILE else other.end - other.start
        process.memory.write(address + 2, process.pack(0, size=2))
        process.memory.write(address + size, process.pack(other.start, length, size=size))
        process.memory.write(address + 3 * size, process.pack(int(str(other.owner)), size=4))


def _moved(process: Process, places: tuple[tuple[int, int], tuple[int, int]], count: int) -> int:
    """Bytes from one open file to another: each a descriptor, and where its offset lies, 0 for the file's own."""
    numbers, offsets = zip(*places, strict=True)
    source = process.descriptors.file(process.signed(numbers[0]), os.O_WRONLY)
    target = process.descriptors.file(process.signed(numbers[1]), os.O_RDONLY)
    starts = [process.memory.word(each, 8) if each else 0 for each in offsets]
    data = source.read_at(min(count, MOST_AT_ONCE), starts[0]) if offsets[0] else take(source, count)
    put = partial(target.write_at, offset=starts[1]) if offsets[1] else None
    done = written(process, target, data, put=put) if data else 0
    if not offsets[0] and done < len(data):
        source.seek(done - len(data), os.SEEK_CUR)
    for each, start in zip(offsets, starts, strict=True):
        process.memory.tell(each, process.pack(start + done, size=8))
    return done


def pipe2(process: Process, a: tuple[int, ...]) -> None:
    """``pipe2(fds, flags)``: 0, and the numbers of both ends at ``fds``."""
    address, flags = a[:2]
    process.memory.write(address, bytes(8))  # EFAULT before anything is open
    ends = pipe(flags & os.O_NONBLOCK)
    numbers = [process.descriptors.add(end, close_on_exec=bool(flags & os.O_CLOEXEC)) for end in ends]
    process.memory.write(address, process.pack(*numbers, size=4))


def ioctl(process: Process, a: tuple[int, ...]) -> None:
    """Whether it waits, what execve does with it, how much could be read.

    Nothing here is a terminal, so that programs run alike wherever the testbed does.
    """
    number, command = process.signed(a[0]), a[1] & 0xFFFF_FFFF
    file = process.descriptors[number]
    if command in (_CLOSE_ON_EXEC, _KEEP_ON_EXEC):
        process.descriptors.keep_on_exec(number, command == _KEEP_ON_EXEC)
    elif command == _NO_WAITING:
        file.flags = file.flags & ~os.O_NONBLOCK | os.O_NONBLOCK * bool(process.memory.word(a[2], 4))
    elif command == _HOW_MUCH and isinstance(file, PipeEnd | Socket):
        process.memory.write(a[2], process.pack(file.waits, size=4))
    else:
        raise Refusal(errno.ENOTTY)


def sync(process: Process, a: tuple[int, ...]) -> None:
    """``fsync(fd)`` and ``fdatasync(fd)``: 0, since files are written at once; EINVAL for what is no file."""
    mode = process.descriptors[process.signed(a[0])].mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise Refusal(errno.EINVAL)


def _advised(process: Process, number: int, advice: int) -> None:
    """What a program says of how it will read: nothing comes of it here."""
    if stat.S_ISFIFO(process.descriptors[process.signed(number)].mode):
        raise Refusal(errno.ESPIPE)
    if advice > _MOST_ADVICE:
        raise Refusal(errno.EINVAL)


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
    "flock": flock,
    **dict.fromkeys(("sendfile", "sendfile64"), lambda process, a: _moved(process, ((a[1], a[2]), (a[0], 0)), a[3])),
    "copy_file_range": lambda process, a: _moved(process, ((a[0], a[1]), (a[2], a[3])), a[4]),
    "fallocate": fallocate,
    "fsync": sync,
    "fdatasync": sync,
    "fadvise64": lambda process, a: _advised(process, a[0], a[3]),
    "arm_fadvise64_64": lambda process, a: _advised(process, a[0], a[1]),
}
