"""A source as the preprocessor leaves it: which of its lines count, and what each macro is where it is used.

Conditions, files that are included, and definitions made on the command line are the preprocessor's own business, so
it is asked, and says where each line comes from (`-E -dD` of GCC and Clang; "Preprocessor Output" in GCC's manual).
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from testbed.checks.own_sources import Sources
from testbed.words.errors import TestbedError

_MARK = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"')
_DEFINED = re.compile(r"\s*#\s*(?:define|undef)\s+(\w+)(\([^)]*\))?\s*(.*)")
_STARTPROC = re.compile("cfi_?start_?proc", re.IGNORECASE)


def real_path(file: str) -> str:
    """A file's own path, as the current folder has it; what is no file, as ``<built-in>``, stays."""
    return _resolved(file, os.getcwd())


@lru_cache(maxsize=64)
def _resolved(file: str, folder: str) -> str:
    return file if file.startswith("<") else str(Path(folder, file).resolve())


class LeftLine(NamedTuple):
    """A line that is left: the file and the number that it has there, and its text with macros expanded."""

    file: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A macro from a line of a file on. ``parameters`` None: it is used without any; ``body`` None: it is none now."""

    name: str
    file: str
    number: int
    parameters: tuple[str, ...] | None
    body: str | None


@dataclass(frozen=True, eq=False)
class Preprocessed:
    """The lines that are left, in order; where each is among them; and definitions, each with how many lines are
    before it."""

    lines: Sequence[LeftLine]
    places: Mapping[tuple[str, int], int]
    definitions: Mapping[str, Sequence[tuple[int, Definition]]]

    def definition(self, name: str, place: int) -> Definition | None:
        """What a name stands for at the line that has a place."""
        before = [found for index, found in self.definitions.get(name, ()) if index <= place]
        return before[-1] if before and before[-1].body is not None else None


@lru_cache(maxsize=8)
def preprocessed(sources: Sources) -> Preprocessed | None:
    """The source of a check as it is preprocessed; None where it is none that the preprocessor reads."""
    if sources.expand is None:
        return None
    try:
        return read_preprocessed(sources.expand())
    except TestbedError:
        return None


def left_out_by_the_build(sources: Sources) -> str:
    """The macro that begins the rows of functions in other builds, and stands for nothing in this one; "" if none."""
    unit = preprocessed(sources)
    last = {name: found[-1][1].body for name, found in (unit.definitions.items() if unit else ())}
    return next((name for name, body in last.items() if _STARTPROC.search(name) and body is not None and not body), "")


def read_preprocessed(text: str) -> Preprocessed:
    """What stands in the output of a preprocessor."""
    lines, places = list[LeftLine](), dict[tuple[str, int], int]()
    definitions: defaultdict[str, list[tuple[int, Definition]]] = defaultdict(list)
    for file, number, said in _marked(text):
        match = _DEFINED.match(said)
        if match:
            names = None if match[2] is None else tuple(each.strip() for each in match[2][1:-1].split(","))
            body = match[3] if "define" in said.split(match[1])[0] else None
            definitions[match[1]].append((len(lines), Definition(match[1], file, number, names, body)))
        elif said.strip():
            places.setdefault((file, number), len(lines))
            lines.append(LeftLine(file, number, said))
    return Preprocessed(lines, places, definitions)


def _marked(text: str) -> Iterator[tuple[str, int, str]]:
    """The lines of a preprocessor's output, each with its file and number."""
    file, number = "", 0
    for line in text.split("\n"):
        mark = _MARK.match(line)
        if mark:
            file, number = real_path(mark[2]), int(mark[1])
            continue
        yield file, number, line
        number += 1
