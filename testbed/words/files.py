"""Files that the testbed can make again: where they lie, and how they appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import select
import stat
import tempfile
import time
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_cache_path


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
