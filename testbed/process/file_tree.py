"""The files that a process sees: read from folders that were named, written only into a folder made for the run.

A path is walked here, name by name, and so is every symbolic link: an absolute one starts at the process's own root. So
nothing leads out of the named folders, neither ``..`` nor a link, whoever made it. The host only ever gets paths whose
last name is no link (O_NOFOLLOW) and whose other names were seen to be folders.

Written files lie in ``written``, in the folders that they have for the process: a layer above everything else. What is
deleted below is remembered as gone. Symbolic links, pipes and sockets that a process makes lie on no host; devices
cannot be made. Permissions and times of what is written are kept here: no file of the host has them.
"""

from __future__ import annotations

import copy
import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakValueDictionary

from testbed.process.address_space import SharedBytes
from testbed.process.threads import Refusal

MOST_LINKS = 40
FIRST_NUMBER = (1 << 31) + 2  # the inode numbers of what processes make
MOST_PATH = 4096
MOST_ENTRIES = 10_000  # files and folders that a process may make


@dataclass(slots=True)
class FileMarks:
    """What is kept of a written file besides its bytes: permissions, the time of its last change, its inode number.

    The time is in nanoseconds since 1970.
    """

    mode: int
    time: int
    number: int


@dataclass(frozen=True, slots=True)
class FileNode:
    """What lies at a path: ``host`` is where, None for what only the process has; ``upper``: it was written."""

    path: str
    mode: int
    host: Path | None = None
    upper: bool = False
    link: str = ""  # where a symbolic link leads
    holds: object = None  # what lies there of this run: a socket, the channel of a pipe
    marks: FileMarks | None = None

    @property
    def number(self) -> int:
        """Its inode number: ld.so takes two libraries with equal ones for one."""
        return self.marks.number if self.marks else inode(self.path)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


def inode(path: str) -> int:
    """A number for what a process finds at a path, above 1 and below `FIRST_NUMBER`."""
    number = 0
    for byte in os.fsencode(path):
        number = (number * 31 + byte) % 0x7FFF_FFFF
    return number + 2


@dataclass(slots=True)
class _Room:
    """What may still be written, and how many files and folders were made."""

    left: int
    entries: int = 0


class FileTree:
    """``shown`` are files and folders of the host by their path for the process; ``made`` is what no host has."""

    clock: Callable[[], int] = staticmethod(lambda: 0)

    def __init__(self, shown: Mapping[str, Path], written: Path, made: Iterable[FileNode], most: int) -> None:
        self._shown = {path.rstrip("/") or "/": host.resolve() for path, host in shown.items()}
        self._written = written
        self._made = {node.path: node for node in made}
        self._held: dict[str, FileNode] = {}  # what lies in the tree and on no host
        self._gone: set[str] = set()
        self._marks: dict[int, FileMarks] = {}  # of written files and folders, by their number on the host
        self._room = _Room(most)
        self.mapped: WeakValueDictionary[int, SharedBytes] = WeakValueDictionary()  # by number, while it is

    def with_made(self, made: Iterable[FileNode]) -> FileTree:
        """The same files, seen by another process: other ones are made for it."""
        other = copy.copy(self)
        other._made = {node.path: node for node in made}
        return other

    def find(self, path: str, folder: str = "/", *, follow: bool = True) -> FileNode:
        """What lies at a path. Raises Refusal (ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG)."""
        at = self.locate(path, folder, follow=follow)
        node = self.node(at)
        if node is None:
            raise Refusal(errno.ENOENT)
        if path.endswith("/") and not node.is_folder:
            raise Refusal(errno.ENOTDIR)
        return node

    def locate(self, path: str, folder: str = "/", *, follow: bool = True) -> str:
        """The absolute path, without links, that a path means; only its last name need not exist."""
        if not path:
            raise Refusal(errno.ENOENT)
        if len(path) >= MOST_PATH:
            raise Refusal(errno.ENAMETOOLONG)
        names = [*reversed(path.split("/"))]
        at, links = "/" if path.startswith("/") else folder, 0
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            if len(os.fsencode(name)) > 255:
                raise Refusal(errno.ENAMETOOLONG)
            here = self.node(at)
            if here is None or not here.is_folder:
                raise Refusal(errno.ENOENT if here is None else errno.ENOTDIR)
            if name == "..":
                at = at.rpartition("/")[0] or "/"
                continue
            next_at = f"{at.rstrip('/')}/{name}"
            node = self.node(next_at)
            more = any(n not in ("", ".") for n in names)
            if node is not None and stat.S_ISLNK(node.mode) and (follow or more):
                links += 1
                if links > MOST_LINKS:
                    raise Refusal(errno.ELOOP)
                names += reversed(node.link.split("/"))
                at = "/" if node.link.startswith("/") else at
            else:
                at = next_at
        return at

    def node(self, path: str) -> FileNode | None:
        """What lies at an absolute path without links in front of its last name."""
        upper = self._upper(path)
        with suppress(OSError, ValueError):  # what the host cannot say is not there
            about = os.lstat(upper)
            marks = self._marks.get(about.st_ino)
            mode = about.st_mode if marks is None else stat.S_IFMT(about.st_mode) | marks.mode
            return FileNode(path, mode, upper, upper=True, marks=marks)
        if path in self._held or path in self._made:
            return self._held.get(path) or self._made[path]
        if self._is_gone(path):
            return None
        host = self._lower(path)
        if host is not None:
            with suppress(OSError, ValueError):
                mode = os.lstat(host).st_mode
                return FileNode(path, mode, host, link=os.readlink(host) if stat.S_ISLNK(mode) else "")
        inside = path.rstrip("/") + "/"
        if path == "/" or any(p.startswith(inside) for p in (*self._shown, *self._made)):
            return FileNode(path, stat.S_IFDIR | 0o755)
        return None

    def names(self, node: FileNode) -> list[str]:
        """The names in a folder, in order."""
        found: set[str] = set()
        inside = node.path.rstrip("/") + "/"
        is_gone = self._is_gone(node.path)
        for path in (*self._held, *(() if is_gone else (*self._shown, *self._made))):
            if path.startswith(inside):
                found.add(path[len(inside) :].partition("/")[0])
        if not is_gone:
            lower = self._lower(node.path)
            with suppress(OSError, ValueError):
                found.update(os.listdir(lower) if lower else ())
        with suppress(OSError, ValueError):
            found.update(os.listdir(self._upper(node.path)))
        return sorted(name for name in found if self.node(inside + name) is not None)

    # What is written.

    def for_writing(self, path: str, *, empty: bool, mode: int = 0o644) -> Path:
        """Where the host has a file that may be written to: copied there if need be, unless it is to be empty.

        A new one has the permissions ``mode``.
        """
        node = self.node(path)
        if node is not None and not stat.S_ISREG(node.mode):
            raise Refusal(errno.EISDIR if node.is_folder else errno.EACCES)
        upper = self._upper(path)
        if node is None or not node.upper:
            self._count_entry()
            self._make_folders(path)
            data = b""
            if node is not None and node.host is not None and not empty:
                self.claim(os.stat(node.host, follow_symlinks=False).st_size)
                data = node.host.read_bytes()
            with refused_by_host(), open(upper, "xb") as file:
                file.write(data)
            self._mark(path, mode if node is None else node.mode, node)
        return upper

    def _mark(self, path: str, mode: int, before: FileNode | None = None) -> FileMarks:
        """What is written at a path now, anew, or in the place of what lay there ``before``."""
        number = before.number if before else FIRST_NUMBER + self._room.entries
        marks = self._marks[os.lstat(self._upper(path)).st_ino] = FileMarks(mode & 0o7777, self.clock(), number)
        return marks

    def change(self, path: str, mode: int | None, time: int | None) -> None:
        """Other permissions, or another time of the last change. Raises Refusal (ENOENT, EPERM for what is no file)."""
        node = self.node(path)
        if node is None:
            raise Refusal(errno.ENOENT)
        if path in self._held:
            self._held[path] = replace(node, mode=node.mode if mode is None else stat.S_IFMT(node.mode) | mode)
            return
        if path in self._made or path == "/":
            raise Refusal(errno.EPERM)
        self._make_folders(f"{path}/") if node.is_folder else self.for_writing(path, empty=False)
        marks = self._marks.get(os.lstat(self._upper(path)).st_ino) or self._mark(path, node.mode, node)
        marks.mode = marks.mode if mode is None else mode
        marks.time = marks.time if time is None else time

    def without_name(self) -> int:
        """A file that lies nowhere, and is gone once it is closed: a descriptor of the host."""
        with refused_by_host(), tempfile.TemporaryFile(dir=self._written) as file:
            return os.dup(file.fileno())

    def claim(self, size: int) -> None:
        """``size`` more bytes are written. Raises Refusal (ENOSPC) where that is too much for one run."""
        if size > self._room.left:
            raise Refusal(errno.ENOSPC)
        self._room.left -= max(size, 0)

    def place(self, node: FileNode) -> FileNode:
        """Something of this run gets a name. Raises Refusal (EEXIST, ENOENT, ENOTDIR, ENOSPC)."""
        if self.node(node.path) is not None:
            raise Refusal(errno.EEXIST)
        self._count_entry()
        self._check_folder(node.path)
        self._held[node.path] = node
        return node

    def link(self, old: str, new: str) -> None:
        """A second name for what lies at the first one. Raises Refusal (ENOENT, EEXIST, EPERM for a folder)."""
        node = self.node(old)
        if node is None or self.node(new) is not None:
            raise Refusal(errno.ENOENT if node is None else errno.EEXIST)
        if old in self._held:
            self.place(replace(node, path=new))
            return
        if not stat.S_ISREG(node.mode) or node.host is None:
            raise Refusal(errno.EPERM)
        source = self.for_writing(old, empty=False)
        self._count_entry()
        self._make_folders(new)
        with refused_by_host():
            os.link(source, self._upper(new), follow_symlinks=False)

    def make_folder(self, path: str, mode: int = 0o755) -> None:
        if self.node(path) is not None:
            raise Refusal(errno.EEXIST)
        self._count_entry()
        self._make_folders(path)
        with refused_by_host():
            os.mkdir(self._upper(path), 0o700)
        self._mark(path, mode)
        self._gone.add(path)  # nothing of a folder that lay there before

    def remove(self, path: str, *, folder: bool) -> None:
        node = self.node(path)
        if node is None or path in self._made or path in self._shown:
            raise Refusal(errno.ENOENT if node is None else errno.EACCES)
        if node.is_folder != folder:
            raise Refusal(errno.ENOTDIR if folder else errno.EISDIR)
        if folder and self.names(node):
            raise Refusal(errno.ENOTEMPTY)
        if self._held.pop(path, None) is not None:
            return
        with refused_by_host():
            if node.upper:
                os.rmdir(self._upper(path)) if folder else os.unlink(self._upper(path))
        self._gone.add(path)

    def rename(self, old: str, new: str) -> None:
        """Only files: a folder below is never moved (EXDEV, as some file systems say)."""
        node, there = self.node(old), self.node(new)
        if node is None:
            raise Refusal(errno.ENOENT)
        if node.is_folder or (there is not None and there.is_folder):
            raise Refusal(errno.EXDEV)
        if old == new:
            return
        if old in self._held or new in self._held:
            if there is not None:
                self.remove(new, folder=False)
            self.link(old, new)
            self.remove(old, folder=False)
            return
        source = self.for_writing(old, empty=False)
        self._make_folders(new)
        with refused_by_host():
            os.replace(source, self._upper(new))
        self._gone.add(old)

    def _count_entry(self) -> None:
        self._room.entries += 1
        if self._room.entries > MOST_ENTRIES:
            raise Refusal(errno.ENOSPC)

    def _check_folder(self, path: str) -> FileNode:
        """The folder that a path lies in."""
        folder = self.node(path.rpartition("/")[0] or "/")
        if folder is None or not folder.is_folder:
            raise Refusal(errno.ENOENT if folder is None else errno.ENOTDIR)
        return folder

    def _make_folders(self, path: str) -> None:
        """The folder that a path lies in exists for the process; now it does among the written ones, too."""
        folder = self._check_folder(path)
        if not folder.upper:
            self._make_folders(folder.path)
            with refused_by_host():
                os.mkdir(self._upper(folder.path), 0o700)
            self._mark(folder.path, folder.mode, folder)

    def _upper(self, path: str) -> Path:
        return self._written / path.lstrip("/")

    def _lower(self, path: str) -> Path | None:
        shown = max((s for s in self._shown if (path + "/").startswith(s.rstrip("/") + "/")), key=len, default=None)
        return None if shown is None else self._shown[shown] / path[len(shown) :].lstrip("/")

    def _is_gone(self, path: str) -> bool:
        return bool(self._gone) and any(path == gone or path.startswith(gone + "/") for gone in self._gone)


@contextmanager
def refused_by_host() -> Iterator[None]:
    """What the host refuses is refused with the host's reason."""
    try:
        yield
    except OSError as error:
        raise Refusal(error.errno or errno.EIO) from error
