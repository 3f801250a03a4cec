"""Memory that several processes map: of ``mmap`` with MAP_SHARED, of ``memfd_create``, of files in ``/dev/shm``."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from testbed.process.open_files import MOST_AT_ONCE, OpenFile
from testbed.process.refusal import Refusal

MOST_SHARED = 256 << 20  # bytes of one such memory, and that all processes of a run map of them


class SharedBytes:
    """Bytes at one place of the host's memory, which all machines that map them see. They never move.

    ``size`` is how many a file has; ``claim`` is asked before there are more. Room takes memory where it is written to.
    """

    def __init__(self, size: int, room: int, claim: Callable[[int], None] = lambda size: None) -> None:
        """Raises Refusal (ENOMEM) for more than one such memory may have."""
        if room > MOST_SHARED:
            raise Refusal(errno.ENOMEM)
        self.size, self._claim = size, claim
        self.bytes = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))

    def cut(self, size: int) -> None:
        """As ``ftruncate``: fewer bytes, or more, which are zero. Raises Refusal (EINVAL, EFBIG, ENOSPC)."""
        if not 0 <= size <= MOST_SHARED:
            raise Refusal(errno.EINVAL if size < 0 else errno.EFBIG)
        self._claim(max(0, size - self.size))
        if size < self.size:
            self.bytes[size : self.size] = bytes(self.size - size)
        self.size = size


@dataclass(eq=False)
class MemoryFile(OpenFile):
    """A file whose bytes are memory that may be mapped."""

    held: SharedBytes = field(kw_only=True)
    path: str = field(kw_only=True)
    at: int = 0

    @property
    def size(self) -> int:
        return self.held.size

    def read(self, size: int) -> bytes:
        data = self.read_at(size, self.at)
        self.at += len(data)
        return data

    def write(self, data: bytes) -> int:
        if self.flags & os.O_APPEND:
            self.at = self.size
        written = self.write_at(data, self.at)
        self.at += written
        return written

    def read_at(self, size: int, offset: int) -> bytes:
        return self.held.bytes[offset : min(offset + min(size, MOST_AT_ONCE), self.size)] if offset < self.size else b""

    def write_at(self, data: bytes, offset: int) -> int:
        if offset + len(data) > self.size:
            self.held.cut(offset + len(data))
        self.held.bytes[offset : offset + len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int) -> int:
        if whence > os.SEEK_END or (at := offset + (0, self.at, self.size)[whence]) < 0:
            raise Refusal(errno.EINVAL)
        self.at = at
        return at

    def cut(self, size: int) -> None:
        self.held.cut(size)
