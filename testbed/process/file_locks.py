"""Locks on files: of an open file as a whole (``flock``), or of bytes by a process (``fcntl``)."""

from __future__ import annotations

import errno
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from testbed.process.refusal import Refusal

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
