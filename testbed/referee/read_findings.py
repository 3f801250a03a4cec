"""What was seen of a real tool, read from the ``findings.toml`` in its folder: a `Finding` for each ``[[finding]]``.

A finding's ``limit`` is the name of one in the tool's module of limits, or of several: then the first on ``trait``, and
with ``outcome``, is meant, on the finding's architecture.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from testbed.contract.unwinder import Limit
from testbed.referee.model import Finding
from testbed.words.data_file import Table, read_toml, tables_in
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_NEEDED = frozenset({"title", "unwinder", "tool", "since", "program", "arch", "recipe", "at", "limit"})
_KEYS = {**dict.fromkeys(_NEEDED | {"upstream", "trait", "outcome"}, str), "of_technique": bool}
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


def read_findings(strategy: str, *limits: ModuleType) -> tuple[Finding, ...]:
    """The findings beside a tool's module, whose limits stand in ``limits``. Raises DataFileError."""
    path = Path(strategy).with_name("findings.toml")
    named = {name: value for module in limits for name, value in vars(module).items() if name[0].isupper()}
    return tuple(_finding(table, named) for table in tables_in(path, read_toml(path), "finding", _KEYS, _NEEDED))


def _finding(table: Table, named: Mapping[str, Any]) -> Finding:
    rest = {key: value for key, value in table.keys.items() if key not in ("limit", "trait", "outcome")}
    return Finding(**rest, limit=_limit(table, named))


def _limit(table: Table, named: Mapping[str, Any]) -> Limit:
    found, arch = table.chosen("limit", table.keys["limit"], named), table.keys["arch"]
    if isinstance(found, Limit):
        return found
    trait = table.chosen("trait", table.keys.get("trait", ""), Trait.__members__)
    outcome = table.keys.get("outcome")
    wanted = set(Outcome) if outcome is None else {table.chosen("outcome", outcome, _OUTCOMES)}
    limit: Limit
    for limit in found:
        if limit.trait is trait and wanted & limit.outcomes and (limit.arches is None or arch in limit.arches):
            return limit
    raise table.wrong("limit", f"{table.keys['limit']} has none on {trait.name} that shows as {outcome} on {arch}")
