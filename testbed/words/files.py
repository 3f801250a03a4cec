"""Files that the testbed can make again: where they lie, and how they appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import select
import shutil
import stat
import tempfile
import time
import weakref
from contextlib import suppress
from functools import cache
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
