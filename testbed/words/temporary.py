"""Temporary folders that do not outlive their process by long: those of dead ones go when the next one is made.

A folder is locked as long as anybody has it open (flock(2) on the folder itself): its process, and what was forked from
it. The kernel unlocks it when they are gone, however they went.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType

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
