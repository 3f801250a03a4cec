"""Files that a command writes: tried before the work, so that an hour of it is not lost to a mistyped folder."""

from __future__ import annotations

from pathlib import Path

from testbed.words.errors import UsageError


def try_writing(path: Path) -> None:
    """Raise UsageError where a file cannot be written. What is there stays, and nothing new is there."""
    there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises UsageError where it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
