"""File descriptors and what each can stand for: files, folders, standard streams, devices; and locks on files."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, TypeVar

from testbed.process.address_space import MOST_SHARED, SharedBytes
from testbed.process.file_tree import FileNode, FileTree, refused_by_host
from testbed.process.threads import Refusal

# Locks on files: of an open file as a whole (``flock``), or of bytes by a process (``fcntl``).

MOST_LOCKS = 4096  # of all files
WHOLE_FILE = 1 << 63


class FileLock(NamedTuple):
    """Bytes [start, end) of a file that an owner, an open file or the number of a process, shares or has alone."""

    owner: Hashable
    alone: bool
    start: int = 0
    end: int = WHOLE_FILE

    def meets(self, other: FileLock) -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(eq=False)
class FileLocks:
    """All of a run, by path and kind of owner: open files and processes do not keep each other out.

    ``lives`` says whether an owner is still there; what others held is free.
    """

    lives: Callable[[Hashable], bool]
    held: dict[tuple[str, type], list[FileLock]] = field(default_factory=dict)

    def against(self, path: str, wanted: FileLock) -> FileLock | None:
        """A lock of somebody else that keeps one from being had now."""
        key = path, type(wanted.owner)
        kept = self.held[key] = [each for each in self.held.get(key, ()) if self.lives(each.owner)]
        others = (each for each in kept if each.owner != wanted.owner and each.meets(wanted))
        return next((each for each in others if each.alone or wanted.alone), None)

    def put(self, path: str, wanted: FileLock, *, locked: bool) -> None:
        """What its owner had of these bytes is free, and where ``locked``, this is had. Raises Refusal (ENOLCK)."""
        key, kept = (path, type(wanted.owner)), []
        for each in self.held.pop(key, ()):
            parts = [each]
            if each.owner == wanted.owner and each.meets(wanted):
                parts = [each._replace(end=wanted.start), each._replace(start=wanted.end)]
            kept += [part for part in parts if part.start < part.end]
        kept += [wanted] * locked
        if kept:
            self.held[key] = kept
        if sum(map(len, self.held.values())) > MOST_LOCKS:
            raise Refusal(errno.ENOLCK)


MOST_AT_ONCE = 16 << 20  # bytes of one read or write
MOST_OUTPUT = 64 << 20  # bytes that are kept of a standard stream
POLL_IN, POLL_OUT, POLL_ERROR, POLL_HUNG_UP, POLL_READ_HUNG_UP = 1, 4, 8, 0x10, 0x2000


@dataclass(eq=False)
class OpenFile:
    """An open file description: what descriptors stand for.

    It never waits. `polled` says what it would do now without: whoever reads, writes, accepts, polls or selects asks
    that, and reads and writes only then. Whatever it cannot do it refuses with Linux's error number.
    """

    flags: int
    mode: int = stat.S_IFIFO | 0o600
    is_open: bool = field(default=True, init=False)  # some descriptor of some process stands for it
    _changes: int = field(default=0, init=False)

    def read(self, size: int) -> bytes:
        raise Refusal(errno.EINVAL)

    def write(self, data: bytes) -> int:
        raise Refusal(errno.EINVAL)

    def read_at(self, size: int, offset: int) -> bytes:
        raise Refusal(errno.ESPIPE)

    def write_at(self, data: bytes, offset: int) -> int:
        raise Refusal(errno.ESPIPE)

    def seek(self, offset: int, whence: int) -> int:
        raise Refusal(errno.ESPIPE)

    def cut(self, size: int) -> None:
        raise Refusal(errno.EINVAL)

    @property
    def size(self) -> int:
        """Bytes that it has, as ``stat`` says."""
        return 0

    def polled(self) -> int:
        """What ``poll`` says of it now: whatever it is asked for, it does at once."""
        return POLL_IN | POLL_OUT

    def ready_at(self, wanted: int) -> int | None:
        """When time alone makes it ready for what is wanted of it, in nanoseconds since 1970; None: never."""
        return None

    @property
    def changes(self) -> int:
        """How often something came or went that can make it ready: an edge is a change of this."""
        return self._changes

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(eq=False)
class InputStream(OpenFile):
    """Standard input: bytes that are known beforehand."""

    data: bytes = b""

    def read(self, size: int) -> bytes:
        taken, self.data = self.data[:size], self.data[size:]
        return taken


@dataclass(eq=False)
class OutputStream(OpenFile):
    """Standard output or error: what was written to it."""

    data: bytearray = field(default_factory=bytearray)

    def write(self, data: bytes) -> int:
        if len(self.data) + len(data) > MOST_OUTPUT:
            raise Refusal(errno.ENOSPC)
        self.data += data
        return len(data)


@dataclass(eq=False)
class NullDevice(OpenFile):
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
class OpenFolder(OpenFile):
    """A folder, with the names that it had when it was opened; ``at`` is the next one that is listed."""

    mode: int = stat.S_IFDIR | 0o755
    node: FileNode = field(kw_only=True)
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
class OpenHostFile(OpenFile):
    """A file of the tree, by a descriptor of the host that was opened for reading, or is the run's own."""

    node: FileNode = field(kw_only=True)
    tree: FileTree = field(kw_only=True)
    host: int = field(kw_only=True)

    @property
    def size(self) -> int:
        return os.fstat(self.host).st_size

    @property
    def shared(self) -> SharedBytes:
        """Its bytes as memory, which changes with it as long as somebody has that. Raises Refusal (ENOMEM)."""
        number, mapped = os.fstat(self.host).st_ino, self.tree.mapped
        with refused_by_host():
            found = mapped.get(number) or SharedBytes(MOST_SHARED, self.host)
        mapped[number] = found
        return found

    def read(self, size: int) -> bytes:
        with refused_by_host():
            return os.read(self.host, min(size, MOST_AT_ONCE))

    def read_at(self, size: int, offset: int) -> bytes:
        with refused_by_host():
            return os.pread(self.host, min(size, MOST_AT_ONCE), offset)

    def write(self, data: bytes) -> int:
        append = bool(self.flags & os.O_APPEND)
        at = self.seek(0, os.SEEK_END if append else os.SEEK_CUR)
        return self.seek(at + self.write_at(data, at), os.SEEK_SET) - at

    def write_at(self, data: bytes, offset: int) -> int:
        self.tree.claim(max(0, offset + len(data) - self.size))
        with refused_by_host():
            written = os.pwrite(self.host, data, offset)
        self._changed(data[:written], offset)
        return written

    def cut(self, size: int) -> None:
        before = self.size
        self.tree.claim(max(0, size - before))
        with refused_by_host():
            os.ftruncate(self.host, size)
        self._changed(bytes(max(0, before - size)), size)

    def _changed(self, data: bytes, offset: int) -> None:
        if self.node.marks is not None:
            self.node.marks.time = self.tree.clock()
        mapped = self.tree.mapped.get(os.fstat(self.host).st_ino)
        if mapped is not None:
            mapped.write(data, offset)

    def seek(self, offset: int, whence: int) -> int:
        with refused_by_host():
            return os.lseek(self.host, offset, whence)

    def close(self) -> None:
        os.close(self.host)


@dataclass(eq=False)
class MadeFile(OpenFile):
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


def open_in(tree: FileTree, path: str, flags: int, mode: int = 0o644) -> OpenFile:
    """Open a file or folder at an absolute path without links; a new file has this mode. Raises Refusal."""
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
    needed = 0o200 * writes | 0o400 * (flags & os.O_ACCMODE != os.O_WRONLY)
    if node is not None and needed & ~node.mode:
        raise Refusal(errno.EACCES)
    if writes or node is None:
        host = tree.for_writing(path, empty=bool(flags & os.O_TRUNC), mode=mode)
        node = tree.node(path)
    else:
        if not stat.S_ISREG(node.mode) or node.host is None:
            raise Refusal(errno.EACCES)  # a device, a socket, a pipe of the host
        host = node.host
    assert node is not None
    access = os.O_RDWR if node.upper else os.O_RDONLY
    with refused_by_host():
        opened = os.open(host, access | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    kept = flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC)
    file = OpenHostFile(kept, os.fstat(opened).st_mode, node=node, tree=tree, host=opened)
    if flags & os.O_TRUNC:
        file.cut(0)
    return file


# The file descriptors of a process: small numbers that stand for open files.

OpenKind = TypeVar("OpenKind", bound=OpenFile)

MOST_DESCRIPTORS = 1024
OPEN_LIMIT = 7  # RLIMIT_NOFILE
MOST_SENT = 1024  # open files that are on their way from one process to another, in all of a run


class OpenFiles:
    """How often each open file stands in a table, or is on its way to one: with the last time it is closed."""

    def __init__(self, files: Iterable[OpenFile]) -> None:
        self._counts = Counter(files)
        self.sent = 0
        self._leaving: deque[OpenFile] = deque()

    def take(self, *files: OpenFile) -> None:
        self._counts.update(files)

    def give_back(self, *files: OpenFile) -> None:
        """One after the other: a socket that is closed may have been the last place of the next one."""
        is_first = not self._leaving
        self._leaving.extend(files)
        while is_first and self._leaving:
            file = self._leaving[0]
            if self._counts[file] == 1:
                del self._counts[file]
                file.is_open = False
                file.close()
            elif self._counts[file]:
                self._counts[file] -= 1
            self._leaving.popleft()

    def close(self) -> None:
        """Close all, also what nothing but itself keeps open."""
        while self._counts:
            file = next(iter(self._counts))
            self._counts[file] = 1
            self.give_back(file)


@dataclass(eq=False)
class SentFiles:
    """Open files on their way through a socket. They stay open until somebody has them, or nobody can."""

    held: OpenFiles
    files: tuple[OpenFile, ...]

    def __post_init__(self) -> None:
        """Raises Refusal (ETOOMANYREFS)."""
        if self.held.sent + len(self.files) > MOST_SENT:
            raise Refusal(errno.ETOOMANYREFS)
        self.held.sent += len(self.files)
        self.held.take(*self.files)

    def copy(self) -> SentFiles:
        return SentFiles(self.held, self.files)

    def close(self) -> None:
        files, self.files = self.files, ()
        self.held.sent -= len(files)
        self.held.give_back(*files)


class Descriptors:
    """Open files by number. One open file may have several; it is closed with the last of them.

    ``limits`` are those that the process has set, soft and hard, by resource.
    """

    def __init__(self, *standard: OpenFile) -> None:
        self._files: dict[int, OpenFile] = dict(enumerate(standard))
        self._close_on_exec: set[int] = set()
        self.limits: dict[int, tuple[int, int]] = {}
        self._held = OpenFiles(standard)  # of all tables of the run

    def file(self, number: int, other: int) -> OpenFile:
        """The open file that is to be read or written; ``other`` is O_WRONLY or O_RDONLY, which keeps it from that.

        Raises Refusal (EBADF).
        """
        file = self[number]
        if file.flags & os.O_ACCMODE == other:
            raise Refusal(errno.EBADF)
        return file

    def __getitem__(self, number: int) -> OpenFile:
        """Raises Refusal (EBADF)."""
        if number not in self._files:
            raise Refusal(errno.EBADF)
        return self._files[number]

    def of(self, kind: type[OpenKind], number: int, otherwise: int) -> OpenKind:
        """An open file of this kind. Raises Refusal (EBADF, and ``otherwise`` for another kind)."""
        file = self[number]
        if not isinstance(file, kind):
            raise Refusal(otherwise)
        return file

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._files))

    def __contains__(self, number: int) -> bool:
        return number in self._files

    def add(self, file: OpenFile, lowest: int = 0, *, close_on_exec: bool = False) -> int:
        """The lowest number that is free. Raises Refusal (EMFILE), and closes the file then."""
        most = min(MOST_DESCRIPTORS, self.limits.get(OPEN_LIMIT, (MOST_DESCRIPTORS,))[0])
        number = next((n for n in range(lowest, most) if n not in self._files), None)
        if number is None:
            self._held.take(file)
            self._held.give_back(file)
            raise Refusal(errno.EMFILE)
        self._files[number] = file
        self._held.take(file)
        self.keep_on_exec(number, not close_on_exec)
        return number

    def put(self, number: int, file: OpenFile) -> None:
        """As dup2: whatever had the number is closed before."""
        if not 0 <= number < MOST_DESCRIPTORS:
            raise Refusal(errno.EBADF)
        self._held.take(file)
        if number in self._files:
            self.close(number)
        self._files[number] = file
        self.keep_on_exec(number, True)

    def close(self, number: int) -> None:
        file = self[number]
        del self._files[number]
        self._close_on_exec.discard(number)
        self._held.give_back(file)

    def send(self, numbers: Iterable[int]) -> SentFiles:
        """Raises Refusal (EBADF, ETOOMANYREFS)."""
        return SentFiles(self._held, tuple(self[number] for number in numbers))

    def receive(self, sent: SentFiles, most: int, *, close_on_exec: bool) -> list[int]:
        """The numbers of up to so many that were sent, as far as there are any; the others are closed."""
        numbers: list[int] = []
        with suppress(Refusal):
            for file in sent.files[:most]:
                numbers.append(self.add(file, close_on_exec=close_on_exec))
        sent.close()
        return numbers

    def keep_on_exec(self, number: int, keep: bool) -> None:
        (self._close_on_exec.discard if keep else self._close_on_exec.add)(number)

    def closes_on_exec(self, number: int) -> bool:
        return number in self._close_on_exec

    def close_all(self) -> None:
        for number in list(self._files):
            self.close(number)

    def close_sent(self) -> None:
        """Close what is on its way where no process is left: sockets that were sent through each other."""
        self._held.close()

    def close_for_exec(self) -> None:
        for number in list(self._close_on_exec):
            self.close(number)

    def copy(self) -> Descriptors:
        """The same open files, with numbers of their own: they are closed with the last number in any of the tables."""
        other = Descriptors()
        other._files, other._close_on_exec, other._held = dict(self._files), set(self._close_on_exec), self._held
        other.limits = dict(self.limits)
        self._held.take(*self._files.values())
        return other
