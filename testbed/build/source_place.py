"""Where in a source something stands: what every message about a source begins with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from testbed.words.errors import BuildError


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column (both from 1) of a source file."""

    path: Path
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"

    def error(self, detail: str) -> BuildError:
        """The error to raise about this place: ``path:line:column: detail``."""
        return BuildError(f"{self}: {detail}")
