"""Fragments: files that several assembly programs include, where each would otherwise have a copy.

A line ``.include "fragments/give_back.arm64.S"`` stands where the fragment belongs; every assembler knows it. The name
is that of a file in a folder beside the source. A fragment has no header and includes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path

from testbed.program.header import BESIDE, Header
from testbed.words.errors import ProgramError
from testbed.words.files import regular_bytes

_INCLUDE = re.compile(r'^\s*\.include\s+"(?P<name>[^"]*)"\s*(?://.*)?$')
_MOST_FILES, _MOST_BYTES = 200, 1 << 20  # of a source's include folders together
_LONGEST = 1 << 24  # bytes of one source


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
        if not BESIDE.fullmatch(name):
            raise ProgramError(path, number, f".include: a file in a folder beside the source is needed, not {name!r}")
        found[name] = _fragment(path, number, ".include", name)
        for inside, other in _included(found[name].text):
            raise ProgramError(path.parent / name, inside, f"a fragment includes no other file, such as {other!r}")
    return tuple(found.values())


def source_text(path: Path) -> str:
    """A source file's text, its line ends made one. Raises OSError (also for no file), UnicodeDecodeError."""
    return TextIOWrapper(BytesIO(regular_bytes(path, _LONGEST)), encoding="utf-8").read()


def named_files(path: Path, header: Header) -> tuple[Fragment, ...]:
    """What a header names: further sources, and every file of the include folders. Raises ProgramError."""
    names = list(header.sources)
    for folder in header.include:
        if not (path.parent / folder).is_dir():
            raise ProgramError(path, 1, f"include: there is no folder {folder!r} beside this source")
        names += sorted(
            file.relative_to(path.parent).as_posix() for file in (path.parent / folder).rglob("*") if file.is_file()
        )
    if len(names) > _MOST_FILES:
        raise ProgramError(path, 1, f"sources and include name {len(names)} files; {_MOST_FILES} are possible")
    found = tuple(_fragment(path, 1, "sources and include", name) for name in dict.fromkeys(names))
    if sum(len(fragment.text) for fragment in found) > _MOST_BYTES:
        raise ProgramError(path, 1, f"sources and include name more than {_MOST_BYTES} bytes")
    return found


def _fragment(path: Path, line: int, what: str, name: str) -> Fragment:
    file = path.parent / name
    if not file.resolve().is_relative_to(path.parent.resolve()):
        raise ProgramError(path, line, f"{what}: {name!r} is a link that leads out of the source's folder")
    try:
        return Fragment(name, source_text(file))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        detail = f"{what}: {file} cannot be read: {why}; a source that is copied needs its fragments beside it"
        raise ProgramError(path, line, detail) from error


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
