"""Sources that debug information names: read where they lie below the user's folders, and nowhere else.

A file may name any other: what is said of its sources opens no pipe, and shows no line of a file that is not the user's
code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from testbed.words.files import open_regular

_MOST_SOURCE = 1 << 24  # bytes


@dataclass(frozen=True, slots=True)
class Sources:
    """The folders below which sources are read; of those ``written`` otherwise, the text is taken for the file's.

    ``expand`` has the one that is checked preprocessed, if it is one.
    """

    folders: tuple[Path, ...] = ()
    written: tuple[tuple[Path, str], ...] = ()
    expand: Callable[[], str] | None = None
    known: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def text(self, file: str) -> str:
        """A source; "" where it lies in none of the folders, or cannot be read."""
        if file not in self.known:
            self.known[file] = self._read(file) if file else ""
        return self.known[file]

    def lines(self, file: str) -> Sequence[str]:
        """The lines of a source."""
        text = self.text(file)
        return lines_of(text) if text else ()

    def _read(self, file: str) -> str:
        try:
            real = Path(file).resolve()
            if not any(real.is_relative_to(folder.resolve()) for folder in self.folders):
                return ""
        except (OSError, RuntimeError, ValueError):  # links in a circle, a name that no file can have
            return ""
        text = next((text for path, text in self.written if path == real), None)
        return _text(real) if text is None else text


def line_end(text: str) -> str:
    """How the lines of a text end, if they all do so."""
    return "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"


@lru_cache(maxsize=16)
def lines_of(text: str) -> Sequence[str]:
    """The lines of a text as compilers count them, without their ends."""
    return tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n"))


NO_SOURCES = Sources()


def from_here(file: str) -> str:
    """A file's path as it is seen from the current folder, if it lies below that."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def sources_of(
    path: Path, text: str | None = None, expand: Callable[[], str] | None = None, named: Sequence[Path] = ()
) -> Sources:
    """The sources of a file: they lie below its own folder, also that of what a link to it leads to, the current one,
    and those that were ``named`` to its compiler. ``text`` stands for its own."""
    folders = (path.parent, path.resolve().parent, Path(), *named)
    return Sources(folders, () if text is None else ((path.resolve(), text),), expand)


@lru_cache(maxsize=16)
def _text(real: Path) -> str:
    try:
        with open_regular(real) as source:
            return source.read(_MOST_SOURCE).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
