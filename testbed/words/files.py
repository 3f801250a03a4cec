"""Files that the testbed can make again, whole or not at all; temporary folders; and which code a result came from."""

from __future__ import annotations

import errno
import fcntl
import grp
import hashlib
import os
import pwd
import select
import shutil
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from platformdirs import user_cache_path

# Temporary folders that do not outlive their process by long: those of dead ones go when the next one is made.
#
# A folder is locked as long as anybody has it open (flock(2) on the folder itself): its process, and what was forked
# from it. The kernel unlocks it when they are gone, however they went.

PREFIX = "testbed-work-"


class WorkFolder:
    """A temporary folder for one purpose, ``path``; gone with the context, with this object, or after the process.

    ``place``: where, if not where temporary files are. Raises OSError where there is no place for it.
    """

    def __init__(self, purpose: str, place: Path | None = None) -> None:
        remove_dead(place)
        while True:
            path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-", dir=place))
            # Before it is locked another process may take it for a dead one's, and remove it.
            try:
                held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            fcntl.flock(held, fcntl.LOCK_EX)
            if path.is_dir():
                break
            os.close(held)
        self.path = path
        self._end = weakref.finalize(self, _removed, path, held, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove it now. A process that was forked since only forgets it."""
        self._end()


def _removed(path: Path, held: int, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        os.close(held)


@cache
def remove_dead(place: Path | None = None) -> None:
    """Remove the folders of processes that were killed; once a process."""
    try:
        found = list((place or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"))
    except OSError:  # there is no place for temporary files: who needs one will say so
        return
    for path in found:
        try:
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # another user's, or gone
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:  # somebody has it
            continue
        finally:
            os.close(held)


def cache_folder() -> Path:
    """The user's cache folder, or ``TESTBED_CACHE``. It need not exist yet."""
    chosen = os.environ.get("TESTBED_CACHE")
    return Path(chosen) if chosen else user_cache_path("testbed", appauthor=False)


def checksum(content: bytes) -> bytes:
    """What is kept beside a file, to know it whole: the SHA-256 of its content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest().encode("ascii")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears complete or not at all: aside first, then renamed. Raises OSError."""
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


MOST_BYTES = 1 << 32  # of a file that is read whole


def regular_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """All bytes of a regular file, or of a pipe that is read once, for at most `PIPE_SECONDS`.

    Raises OSError, also for a folder, a device, and a file of more than ``most`` bytes; ValueError for a name that no
    file can have.
    """
    # Without O_NONBLOCK a FIFO that nobody writes to would be waited for without end.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        kind = os.fstat(handle)
        if stat.S_ISFIFO(kind.st_mode):
            return _from_pipe(handle, most)
        if not stat.S_ISREG(kind.st_mode):
            raise OSError(errno.EINVAL, f"{_KIND.get(stat.S_IFMT(kind.st_mode), 'a special file')}, not a regular file")
        if not kind.st_size:
            # A file of /proc says 0 and has more; some have no end.
            return _up_to(handle, _PART, min(most, _MOST_UNSIZED))
        return _up_to(handle, kind.st_size + 1, most)
    finally:
        os.close(handle)


def open_regular(path: Path) -> BinaryIO:
    """A regular file, opened to be read unbuffered at any place. Raises OSError and ValueError as `regular_bytes`."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        what = "a pipe" if stat.S_ISFIFO(kind) else _KIND.get(stat.S_IFMT(kind), "a special file")
        raise OSError(errno.EINVAL, f"{what}, not a regular file")
    return os.fdopen(handle, "rb", buffering=0)


PIPE_SECONDS = 10.0
_MOST_UNSIZED = 1 << 20
_PART = 1 << 20
_KIND = {stat.S_IFDIR: "a folder", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def _up_to(handle: int, at_once: int, most: int) -> bytes:
    parts: list[bytes] = []
    left = most + 1
    while left > 0 and (part := os.read(handle, min(left, at_once, 1 << 30))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise OSError(errno.EFBIG, f"more than {most:#x} bytes")
    return b"".join(parts)


def _from_pipe(handle: int, most: int) -> bytes:
    until, parts, size = time.monotonic() + PIPE_SECONDS, list[bytes](), 0
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    while True:
        ready = poll.poll(max(0.0, until - time.monotonic()) * 1000)
        if not ready:
            raise OSError(errno.ETIMEDOUT, f"a pipe to which nobody wrote all within {PIPE_SECONDS:g} s")
        part = os.read(handle, _PART)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > most:
            raise OSError(errno.EFBIG, f"more than {most:#x} bytes")


def said(error: OSError | ValueError) -> str:
    """An error of the system in its own words, without the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def is_folder(path: Path) -> bool:
    """True for a folder; False also for a name that nothing can have, and for what cannot be looked at."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """True for a regular file, in the same way."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


# Files of a cache that nobody else may have written: some are code that is loaded, all are believed.
#
# A checksum beside a file shows damage, and no intent: whoever can write the one can write the other. So a file is
# taken only where it, and the folder that it lies in, belong to this user or to root, and nobody else may write them. A
# group that has only this user in it is nobody else.

# Which code a result came from: the hash of a package's sources, and the versions of installed libraries.

_SOURCES = (".py", ".c", ".cpp", ".h")


@lru_cache(maxsize=16)
def code_of(package: str) -> str:
    """The hash of every source file of a package; "" for one that is not made of files (a notebook).

    Whatever an unwinder calls outside its own package is not seen: after a change there, ask for a fresh result.
    """
    file = getattr(sys.modules.get(package), "__file__", None)
    if package == "__main__" or not file:
        return ""
    root = Path(file)
    package_files = (path for path in root.parent.rglob("*") if path.suffix in _SOURCES)
    files = sorted(package_files) if root.name == "__init__.py" else [root]
    return code_of_files(files, root.parent.parent)


def code_of_files(files: Iterable[Path], root: Path) -> str:
    """The hash of some files: their paths below a folder, and what is in them."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(b"\0" + path.relative_to(root).as_posix().encode("utf-8") + b"\0" + path.read_bytes())
    return digest.hexdigest()


def versions_of(libraries: Iterable[str]) -> tuple[str, ...]:
    """Python's version, and those of some libraries."""
    return sys.version, *(f"{library} {version_of(library)}" for library in libraries)


@lru_cache(maxsize=16)
def version_of(library: str) -> str:
    """The installed version of a library, or "absent"."""
    from importlib.metadata import PackageNotFoundError, version  # the command line does without it

    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


# The name that package indexes know this project by: ``testbed`` is another one there. The command is `testbed`.

DISTRIBUTION = "unwind-testbed"


def own_version() -> str:
    """The version of what is installed."""
    return version_of(DISTRIBUTION)


_ROOT = 0


def own_bytes(path: Path) -> bytes:
    """All bytes of a file that nobody else may have written.

    Raises OSError where there is none; PermissionError, which is one, says whose it is or who may write it.
    """
    _check(os.stat(path.parent), path.parent)
    # What is looked at is what is read: the file is opened once. A pipe is not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        kind = os.fstat(handle)
        if not stat.S_ISREG(kind.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        _check(kind, path)
        return file.read()


def own_folder(path: Path) -> None:
    """Make a folder, and those above it, for this user alone. Raises OSError, also where others may write it."""
    if not path.is_dir():
        for each in reversed((path, *path.parents)):
            with suppress(FileExistsError):
                each.mkdir(mode=0o700)
    _check(os.stat(path), path)


def distrusted(path: Path) -> str:
    """Why nothing is taken from a folder or file, as a sentence with what to do; "" where it is, and without one."""
    try:
        _check(os.stat(path), path)
    except PermissionError as error:
        return f"{path} is not used: {error.strerror}"
    except OSError:
        return ""
    return ""


def _check(found: os.stat_result, path: Path) -> None:
    if found.st_uid not in (os.geteuid(), _ROOT):
        why = f"it belongs to another user ({found.st_uid}): choose another place"
        raise PermissionError(errno.EPERM, why, str(path))
    by_group = found.st_mode & stat.S_IWGRP and not _has_only_this_user(found.st_gid)
    if by_group or found.st_mode & stat.S_IWOTH:
        why = "other users may write it: chmod go-w, after a look at what is there"
        raise PermissionError(errno.EPERM, why, str(path))


def _has_only_this_user(group: int) -> bool:
    """A group of this user's name with nobody else: where those are usual, new files may be written by the group."""
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == user.pw_gid and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}
