"""Reports for the authors of real tools: one for each cause, with nothing of ours in it.

``reports/ID/report.toml`` is what is told, beside it the input files and, where a change is known, ``change.diff``.
``reports/without.toml`` says of which findings there is none, and why.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.words.data_file import WORDS, read_toml, tables_in

_FOLDER = Path(__file__).with_name("reports")
_NEEDED = frozenset({"title", "upstream", "to", "shows_in", "needs", "wrong", "command", "prints", "expected", "place"})
_KEYS: dict[str, type | str] = {
    **dict.fromkeys(_NEEDED | {"change", "ordinary", "tests", "search"}, str),
    **dict.fromkeys(("needs", "findings"), WORDS),
}
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class UpstreamReport:
    """What is told to the authors of a tool about one cause.

    ``upstream`` is who is told, ``to`` the address. ``command`` is the shell's, run where ``files`` (text by name) lie
    and where the programs of ``needs`` are; ``prints`` is what it printed, the right tool's words beside the wrong
    one's. ``place`` is the file and function, ``diff`` a change and ``change`` what became of it, ``tests`` those of
    the authors that hold the mistake, ``ordinary`` who meets it, ``search`` where another report was looked for.
    ``findings`` are the ids of those that it explains.
    """

    id: str
    title: str
    upstream: str
    to: str
    shows_in: str
    needs: tuple[str, ...]
    wrong: str
    command: str
    prints: str
    expected: str
    place: str
    files: Mapping[str, str]
    ordinary: str = ""
    change: str = ""
    diff: str = ""
    tests: str = ""
    search: str = ""
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportTrial:
    """What the command of a report printed here; which of the programs that it needs are ``missing``."""

    printed: str
    missing: tuple[str, ...]
    as_told: bool


def read_reports(folder: Path = _FOLDER) -> dict[str, UpstreamReport]:
    """Every report, by its id, in the order of the upstreams. Raises DataFileError."""
    reports = [each for path in folder.glob("*/report.toml") for each in _read(path)]
    return {each.id: each for each in sorted(reports, key=lambda each: (each.upstream.lower(), each.id))}


def _read(path: Path) -> Iterator[UpstreamReport]:
    beside = sorted(each for each in path.parent.iterdir() if each != path and each.is_file())
    files = {each.name: each.read_text(encoding="utf-8") for each in beside}
    diff = files.pop("change.diff", "")
    for table in tables_in(path, {"report": [read_toml(path)]}, "report", _KEYS, _NEEDED):
        yield UpstreamReport(id=path.parent.name, files=files, diff=diff, **table.keys)


def without_reports(folder: Path = _FOLDER) -> dict[str, str]:
    """Why there is no report, by the ids of findings. Raises DataFileError."""
    path = folder / "without.toml"
    keys: dict[str, type | str] = {"findings": WORDS, "why": str}
    tables = [table.keys for table in tables_in(path, read_toml(path), "without", keys, frozenset(keys))]
    return {name: told["why"] for told in tables for name in told["findings"]}


def try_report(report: UpstreamReport, folder: Path) -> ReportTrial:
    """Run a report's command in a folder that has its files. Whether it printed what the report says."""
    missing = tuple(name for name in report.needs if shutil.which(name) is None)
    if missing:
        return ReportTrial("", missing, False)
    try:
        done = subprocess.run(
            ["sh", "-u", "-c", report.command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ReportTrial(f"nothing within {_SECONDS} seconds", (), False)
    printed = done.stdout.decode("utf-8", "replace")
    return ReportTrial(printed, (), _comparable(printed) == _comparable(report.prints))


def _comparable(text: str) -> list[list[str]]:
    """Words by lines; an address stands for any other one."""
    return [re.sub(r"0x[0-9a-f]+", "0x", line).split() for line in text.strip().splitlines()]
