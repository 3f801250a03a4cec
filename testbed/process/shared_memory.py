"""Memory that several processes map, or one of them twice: of nothing, or the bytes of a file of the run's own."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import weakref

from testbed.process.refusal import Refusal

MOST_SHARED = 256 << 20  # bytes of one such memory, and that all processes of a run map of them
MOST_VIEWS = 32  # mappings that one process has of the same memory: a write is in its journal once for each
_READ_AT_ONCE = 1 << 20


class SharedBytes:
    """Bytes at one place of the host's memory, which all machines that map them see. They never move.

    ``file`` is a descriptor of the host: whatever is written to the file is written here, and the other way round.
    ``changed`` are ranges that were written through the file, and that no journal has yet. Room takes memory where it
    is written to.
    """

    def __init__(self, room: int, file: int | None = None) -> None:
        """Raises Refusal (ENOMEM) for more than one such memory may have."""
        if room > MOST_SHARED:
            raise Refusal(errno.ENOMEM)
        self.bytes = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self.changed: list[tuple[int, int]] = []
        self.file = None if file is None else os.dup(file)
        if self.file is not None:
            weakref.finalize(self, os.close, self.file)
            for at in range(0, os.fstat(self.file).st_size, _READ_AT_ONCE):
                part = os.pread(self.file, _READ_AT_ONCE, at)
                if part.count(0) < len(part):  # a hole takes no memory
                    self.bytes[at : at + len(part)] = part

    def write(self, data: bytes, at: int) -> None:
        """What was written to the file there, as far as there is room."""
        end = min(at + len(data), len(self.bytes))
        if at < end:
            self.bytes[at:end] = data[: end - at]
            self.changed.append((at, end))

    def write_back(self, at: int, end: int) -> None:
        """The file gets these bytes, as far as it has so many."""
        if self.file is not None:
            end = min(end, os.fstat(self.file).st_size)
            os.pwrite(self.file, self.bytes[at:end], at) if at < end else None
