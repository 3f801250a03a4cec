"""What a file descriptor can stand for: a file of the tree, a folder, a standard stream, a pipe, a device."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from testbed.process.file_tree import FileNode, FileTree, refused_by_host
from testbed.process.refusal import Refusal
from testbed.process.threads import MustWait, Wait

MOST_AT_ONCE = 16 << 20  # bytes of one read or write
MOST_OUTPUT = 64 << 20  # bytes that are kept of a standard stream
PIPE_SIZE = 65536
POLL_IN, POLL_OUT, POLL_ERROR, POLL_HUNG_UP = 1, 4, 8, 0x10


class OpenFile(Protocol):
    """An open file description. Whatever it cannot do it refuses with Linux's error number."""

    flags: int

    @property
    def mode(self) -> int: ...
    def read(self, size: int) -> bytes: ...
    def write(self, data: bytes) -> int: ...
    def seek(self, offset: int, whence: int) -> int: ...
    def polled(self) -> int: ...
    def close(self) -> None: ...


@dataclass(eq=False)
class _Unseekable:
    flags: int
    mode: int = stat.S_IFIFO | 0o600

    def read(self, size: int) -> bytes:
        raise Refusal(errno.EBADF)

    def write(self, data: bytes) -> int:
        raise Refusal(errno.EBADF)

    def seek(self, offset: int, whence: int) -> int:
        raise Refusal(errno.ESPIPE)

    def polled(self) -> int:
        """What ``poll`` says of it now: whatever it is asked for, it does at once."""
        return POLL_IN | POLL_OUT

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(eq=False)
class InputStream(_Unseekable):
    """Standard input: bytes that are known beforehand."""

    data: bytes = b""

    def read(self, size: int) -> bytes:
        taken, self.data = self.data[:size], self.data[size:]
        return taken


@dataclass(eq=False)
class OutputStream(_Unseekable):
    """Standard output or error: what was written to it."""

    data: bytearray = field(default_factory=bytearray)

    def write(self, data: bytes) -> int:
        if len(self.data) + len(data) > MOST_OUTPUT:
            raise Refusal(errno.ENOSPC)
        self.data += data
        return len(data)


@dataclass(eq=False)
class NullDevice(_Unseekable):
    """``/dev/null``, ``/dev/zero`` and ``/dev/urandom``: nothing, zeros, or numbers of the run's own."""

    zeros: bool = False
    random: Random | None = None

    def read(self, size: int) -> bytes:
        return self.random.randbytes(size) if self.random else bytes(size) if self.zeros else b""

    def write(self, data: bytes) -> int:
        return len(data)

    def seek(self, offset: int, whence: int) -> int:
        return 0


@dataclass(eq=False)
class _PipeBuffer:
    data: bytearray = field(default_factory=bytearray)
    readers: int = 1
    writers: int = 1


@dataclass(eq=False)
class PipeEnd(_Unseekable):
    """One end of a pipe."""

    buffer: _PipeBuffer = field(default_factory=_PipeBuffer)
    reads: bool = True

    def read(self, size: int) -> bytes:
        buffer = self.buffer
        if not self.reads:
            raise Refusal(errno.EBADF)
        if size and not buffer.data and buffer.writers:
            if self.flags & os.O_NONBLOCK:
                raise Refusal(errno.EAGAIN)
            raise MustWait(Wait(lambda: bool(buffer.data) or not buffer.writers, restart=True, what="read"))
        taken = bytes(buffer.data[:size])
        del buffer.data[:size]
        return taken

    def write(self, data: bytes) -> int:
        if self.reads:
            raise Refusal(errno.EBADF)
        if not self.buffer.readers:
            raise Refusal(errno.EPIPE)
        if len(self.buffer.data) >= PIPE_SIZE:
            if self.flags & os.O_NONBLOCK:
                raise Refusal(errno.EAGAIN)
            buffer = self.buffer
            raise MustWait(Wait(lambda: len(buffer.data) < PIPE_SIZE or not buffer.readers, restart=True, what="write"))
        taken = data[: PIPE_SIZE - len(self.buffer.data)]
        self.buffer.data += taken
        return len(taken)

    def polled(self) -> int:
        buffer = self.buffer
        if self.reads:
            return POLL_IN * bool(buffer.data) | POLL_HUNG_UP * (not buffer.writers)
        return POLL_OUT * (len(buffer.data) < PIPE_SIZE) | POLL_ERROR * (not buffer.readers)

    def close(self) -> None:
        if self.reads:
            self.buffer.readers -= 1
        else:
            self.buffer.writers -= 1


def pipe(flags: int) -> tuple[PipeEnd, PipeEnd]:
    """The end to read from, and the end to write to."""
    buffer = _PipeBuffer()
    return PipeEnd(flags | os.O_RDONLY, buffer=buffer), PipeEnd(flags | os.O_WRONLY, buffer=buffer, reads=False)


@dataclass(eq=False)
class OpenFolder(_Unseekable):
    """A folder, with the names that it had when it was opened; ``at`` is the next one that is listed."""

    mode: int = stat.S_IFDIR | 0o755
    node: FileNode | None = None
    names: tuple[str, ...] = ()
    at: int = 0

    def read(self, size: int) -> bytes:
        raise Refusal(errno.EISDIR)

    def seek(self, offset: int, whence: int) -> int:
        if whence != os.SEEK_SET or not 0 <= offset <= len(self.names):
            raise Refusal(errno.EINVAL)
        self.at = offset
        return offset


@dataclass(eq=False)
class OpenHostFile:
    """A file of the tree, by a descriptor of the host that was opened for reading, or is the run's own."""

    flags: int
    node: FileNode
    tree: FileTree
    host: int

    @property
    def mode(self) -> int:
        return os.fstat(self.host).st_mode

    @property
    def size(self) -> int:
        return os.fstat(self.host).st_size

    def read(self, size: int) -> bytes:
        self._may(os.O_WRONLY)
        with refused_by_host():
            return os.read(self.host, min(size, MOST_AT_ONCE))

    def read_at(self, size: int, offset: int) -> bytes:
        self._may(os.O_WRONLY)
        with refused_by_host():
            return os.pread(self.host, min(size, MOST_AT_ONCE), offset)

    def write(self, data: bytes) -> int:
        self._may(os.O_RDONLY)
        append = bool(self.flags & os.O_APPEND)
        at = self.seek(0, os.SEEK_END if append else os.SEEK_CUR)
        self.tree.claim(max(0, at + len(data) - self.size))
        with refused_by_host():
            return os.write(self.host, data)

    def write_at(self, data: bytes, offset: int) -> int:
        self._may(os.O_RDONLY)
        self.tree.claim(max(0, offset + len(data) - self.size))
        with refused_by_host():
            return os.pwrite(self.host, data, offset)

    def cut(self, size: int) -> None:
        self._may(os.O_RDONLY)
        self.tree.claim(max(0, size - self.size))
        with refused_by_host():
            os.ftruncate(self.host, size)

    def seek(self, offset: int, whence: int) -> int:
        with refused_by_host():
            return os.lseek(self.host, offset, whence)

    def polled(self) -> int:
        return POLL_IN | POLL_OUT

    def close(self) -> None:
        os.close(self.host)

    def _may(self, other: int) -> None:
        """Raise Refusal where it was opened for the other one only."""
        if self.flags & os.O_ACCMODE == other:
            raise Refusal(errno.EBADF)


@dataclass(eq=False)
class MadeFile(_Unseekable):
    """A file that the kernel makes up when it is opened, such as ``/proc/self/maps``."""

    mode: int = stat.S_IFREG | 0o444
    data: bytes = b""
    at: int = 0

    def read(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        self.at += len(taken)
        return taken

    def seek(self, offset: int, whence: int) -> int:
        self.at = max(0, offset + (0, self.at, len(self.data))[whence])
        return self.at


def open_in(tree: FileTree, path: str, flags: int) -> OpenFile:
    """Open a file or folder at an absolute path without links. Raises Refusal."""
    node = tree.node(path)
    writes = flags & os.O_ACCMODE != os.O_RDONLY or flags & os.O_TRUNC
    if node is None and not flags & os.O_CREAT:
        raise Refusal(errno.ENOENT)
    if node is not None and flags & os.O_CREAT and flags & os.O_EXCL:
        raise Refusal(errno.EEXIST)
    if node is not None and stat.S_ISLNK(node.mode):
        raise Refusal(errno.ELOOP)
    if node is not None and node.is_folder:
        if writes or flags & os.O_CREAT:
            raise Refusal(errno.EISDIR)
        return OpenFolder(flags, node=node, names=(".", "..", *tree.names(node)))
    if flags & os.O_DIRECTORY:
        raise Refusal(errno.ENOTDIR)
    if writes or node is None:
        host = tree.for_writing(path, empty=bool(flags & os.O_TRUNC))
        node = tree.node(path)
    else:
        if not stat.S_ISREG(node.mode) or node.host is None:
            raise Refusal(errno.EACCES)  # a device, a socket, a pipe of the host
        host = node.host
    assert node is not None
    upper = node.upper and writes
    mode = os.O_RDWR if upper else os.O_RDONLY
    mode |= flags & os.O_TRUNC if upper else 0
    with refused_by_host():
        opened = os.open(host, mode | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    return OpenHostFile(flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC), node, tree, opened)
