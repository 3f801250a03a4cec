"""Catalogues that stand in TOML files: their tables, checked before anybody uses them.

A file holds tables ``[[kind]]`` of one or several kinds. A string or a truth value outside all tables counts for each
table that may have its key and does not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from testbed.words.catalogue import nearest
from testbed.words.errors import DataFileError

T = TypeVar("T")

WORDS = "a list of strings"
_KINDS = {str: "a string", bool: "true or false", dict: "a table", WORDS: WORDS}


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a file. ``number`` counts from 1 those of its kind."""

    path: Path
    kind: str
    number: int
    keys: Mapping[str, Any]

    def wrong(self, key: str, detail: str) -> DataFileError:
        """The error to raise about a key of this table."""
        name = self.keys.get("name") or self.keys.get("title")
        called = f" {name!r}" if isinstance(name, str) else ""
        return DataFileError(f"{self.path}: {self.kind} {self.number}{called}: {key}: {detail}")

    def chosen(self, key: str, value: str, choices: Mapping[str, T]) -> T:
        """What a name stands for. Raises DataFileError with the nearest names."""
        if value not in choices:
            raise self.wrong(key, f"there is no {value!r}; {nearest(value, choices)}")
        return choices[value]


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file holds. Raises DataFileError where it holds none, or is not there."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataFileError(f"{path}: no TOML file can be read there: {error}") from error


def tables_in(
    path: Path, content: Mapping[str, Any], kind: str, keys: Mapping[str, type | str], needed: frozenset[str]
) -> Iterator[Table]:
    """The tables ``[[kind]]`` of a file, with their keys: str, bool, dict, or WORDS, which come as a tuple.

    Raises DataFileError, naming file, table and key, for an unknown key, one of another type, and one that is needed
    and missing.
    """
    tables = content.get(kind, [])
    shared = {key: value for key, value in content.items() if not isinstance(value, list | dict)}
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataFileError(f"{path}: {kind}: it is written as [[{kind}]], once for each")
    for number, own in enumerate(tables, 1):
        table = Table(path, kind, number, {**{key: value for key, value in shared.items() if key in keys}, **own})
        if missing := sorted(needed - table.keys.keys()):
            raise table.wrong(missing[0], f"it is missing; {_KINDS[keys[missing[0]]]} is needed")
        yield Table(path, kind, number, {key: _checked(table, key, keys) for key in table.keys})


def _checked(table: Table, key: str, keys: Mapping[str, type | str]) -> Any:
    if key not in keys:
        raise table.wrong(key, f"an unknown key; {nearest(key, keys)}")
    value, wanted = table.keys[key], keys[key]
    if wanted == WORDS and isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    if isinstance(wanted, type) and isinstance(value, wanted):
        return value
    raise table.wrong(key, f"{_KINDS[wanted]} is needed, not {value!r}")
