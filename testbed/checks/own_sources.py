"""Sources that debug information names: read where they lie below the user's folders, and nowhere else.

A file may name any other: what is said of its sources opens no pipe, and shows no line of a file that is not the user's
code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from testbed.words.files import open_regular

_MOST_SOURCE = 1 << 24  # bytes


def folders_of(path: Path) -> tuple[Path, ...]:
    """The folders below which the sources of a file may lie: its own, and the current one."""
    return path.parent, Path()


def source_lines(file: str, folders: Sequence[Path]) -> Sequence[str]:
    """The lines of a source; none where it lies in none of the folders, or cannot be read."""
    try:
        real = Path(file).resolve()
        if not any(real.is_relative_to(folder.resolve()) for folder in folders):
            return ()
    except (OSError, RuntimeError, ValueError):  # links in a circle, a name that no file can have
        return ()
    return _lines(real)


@lru_cache(maxsize=16)
def _lines(real: Path) -> Sequence[str]:
    try:
        with open_regular(real) as source:
            return tuple(source.read(_MOST_SOURCE).decode("utf-8", "replace").splitlines())
    except (OSError, ValueError):
        return ()
