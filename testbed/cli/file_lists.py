"""Files that were named, by themselves or in a list: ``@LIST``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from testbed.words.errors import UsageError
from testbed.words.files import regular_bytes


def files_named(files: Sequence[str]) -> tuple[Path, ...]:
    """The files that were named, each once. Raises UsageError where there is none, or a list cannot be read."""
    named: list[str] = []
    for file in files:
        named += _listed_in(Path(file[1:])) if file.startswith("@") else [file]
    if not named:
        raise UsageError("no file to check: name a source, an object or a library, or @LIST of them")
    return tuple(map(Path, dict.fromkeys(named)))


def _listed_in(path: Path) -> list[str]:
    """The lines of a list that are neither empty nor begin with ``#``."""
    try:
        text = regular_bytes(path).decode("utf-8", "surrogateescape")  # a pipe that nobody writes to has an end, too
    except (OSError, ValueError) as error:  # a name with a zero in it
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"the list {path} cannot be read: {said}") from error
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]
