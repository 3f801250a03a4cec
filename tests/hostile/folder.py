"""A folder for files that are read by name, in memory where the machine has such a place; it goes with the process."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from testbed.words.temporary import WorkFolder

_IN_MEMORY = Path("/dev/shm")


@cache
def _root() -> tuple[WorkFolder, int]:
    """The folder of the process that asks first. One that is forked from it has a folder in there."""
    return WorkFolder("hostile", _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None), os.getpid()


@cache
def _own(pid: int) -> Path:
    root, maker = _root()
    own = root.path if pid == maker else root.path / str(pid)
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
