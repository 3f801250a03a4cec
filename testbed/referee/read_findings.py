"""What was seen of a real tool, read from the ``findings.toml`` in its folder: a `Finding` for each ``[[finding]]``."""

from __future__ import annotations

from pathlib import Path

from testbed.referee.model import Finding
from testbed.words.data_file import WORDS, read_toml, tables_in

_NEEDED = frozenset({"title", "unwinder", "tool", "since", "program", "arch", "recipe", "at", "because"})
_KEYS: dict[str, type | str] = {
    **dict.fromkeys(_NEEDED | {"reference", "upstream", "outcome"}, str),
    **dict.fromkeys(("seen_in", "not_in"), WORDS),
    "of_technique": bool,
}


def read_findings(strategy: str) -> tuple[Finding, ...]:
    """The findings beside a tool's module. Raises DataFileError."""
    path = Path(strategy).with_name("findings.toml")
    return tuple(Finding(**table.keys) for table in tables_in(path, read_toml(path), "finding", _KEYS, _NEEDED))
