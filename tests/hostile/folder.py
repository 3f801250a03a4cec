"""A folder for files that are read by name, in memory where the machine has such a place; it goes with the process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")


@cache
def _root() -> tuple[Path, int]:
    """The folder of the process that asks first. One that is forked from it has a folder in there."""
    there = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    path, maker = Path(tempfile.mkdtemp(prefix="testbed-hostile-", dir=there)), os.getpid()

    def remove() -> None:
        if os.getpid() == maker:
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return path, maker


@cache
def _own(pid: int) -> Path:
    root, maker = _root()
    own = root if pid == maker else root / str(pid)
    own.mkdir(exist_ok=True)
    return own


def folder() -> Path:
    """The folder of this process."""
    return _own(os.getpid())


def file_with(content: bytes, name: str = "hostile") -> Path:
    """A file with that content, in place of the one before it of that name."""
    path = folder() / name
    path.write_bytes(content)
    return path
