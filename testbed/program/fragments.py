"""Fragments: files that several assembly programs include, where each would otherwise have a copy.

A line ``.include "fragments/give_back.arm64.S"`` stands where the fragment belongs; every assembler knows it. The name
is that of a file in a folder beside the source. A fragment has no header and includes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.words.errors import ProgramError

_INCLUDE = re.compile(r'^\s*\.include\s+"(?P<name>[^"]*)"\s*(?://.*)?$')
_NAME = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)*")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A file that a source includes: its name, relative to the folder of the source, and its text."""

    name: str
    text: str


def read_fragments(path: Path, text: str) -> tuple[Fragment, ...]:
    """The fragments that a source includes, each once. Raises ProgramError with the line that includes it, or with
    the fragment's own."""
    found: dict[str, Fragment] = {}
    for number, name in _included(text):
        if not _NAME.fullmatch(name):
            raise ProgramError(path, number, f".include: a file in a folder beside the source is needed, not {name!r}")
        file = path.parent / name
        try:
            found[name] = Fragment(name, file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            detail = f".include: {file} cannot be read: {why}; a source that is copied needs its fragments beside it"
            raise ProgramError(path, number, detail) from error
        for inside, other in _included(found[name].text):
            raise ProgramError(file, inside, f"a fragment includes no other file, such as {other!r}")
    return tuple(found.values())


def numbered_lines(path: Path, text: str, fragments: Sequence[Fragment]) -> Iterator[tuple[Path, int, str]]:
    """The lines of a source with the file and the number (from 1) of each; in place of an ``.include`` those of the
    fragment. Raises ProgramError for one that is not among ``fragments``."""
    texts = {fragment.name: fragment.text for fragment in fragments}
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _INCLUDE.match(line)) is None:
            yield path, number, line
        elif match["name"] not in texts:
            raise ProgramError(path, number, f".include: there is no file {match['name']!r} beside this source")
        else:
            for inside, content in enumerate(texts[match["name"]].splitlines(), 1):
                yield path.parent / match["name"], inside, content


def _included(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := _INCLUDE.match(line):
            yield number, match["name"]
