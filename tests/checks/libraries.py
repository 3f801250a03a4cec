"""results/check-of-libraries.md: `testbed check` on the installed libraries, every finding with a judgement by hand.

python -m tests.checks.libraries                       all of them, one after the other, and the page
python -m tests.checks.libraries FILE...               these files anew; what was measured of others stays
python -m tests.checks.libraries --page                the page alone, of what is kept

What was measured of a library is kept in results/check-of-libraries.measured.json, with the commit that measured it;
its findings and their judgements come from there and from docs/results/check-of-libraries.json.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, HowKnown, TableFinding
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.words.errors import UsageError

NAMES = ("libz.so.1", "libgcc_s.so.1", "libm.so.6", "libc.so.6", "libstdc++.so.6")
FOLDERS = {
    "x86_64": Path("/usr/lib/x86_64-linux-gnu"),
    "arm64": Path("/usr/aarch64-linux-gnu/lib"),
    "arm32": Path("/usr/arm-linux-gnueabihf/lib"),
}
_PRINTED = 0.005  # CPU seconds; in less, readelf found no table of call frames to print
MOST_SECONDS = 120  # of CPU time: a minute on two cores
MEASURED, JUDGED = "check-of-libraries.measured.json", "check-of-libraries.json"
HEAD = (
    *("library", "functions", "called", "instructions", "executed", "on forced paths", "statically"),
    *("executed or forced", "tried", "visits compared", "paths thrown away", "functions with a finding"),
    *("CPU s", "times readelf", "at commit"),
)
_SECONDS = HEAD.index("CPU s")


@dataclass(frozen=True, eq=False)
class CheckedLibrary:
    """One library's check, and the CPU seconds that it and ``readelf --debug-dump=frames-interp`` took."""

    check: FileCheck
    seconds: float
    readelf: float

    @property
    def name(self) -> str:
        return f"{self.check.path.name} {self.check.arch.name}"


def installed() -> Iterator[Path]:
    """The libraries that are installed."""
    for folder in FOLDERS.values():
        yield from (folder / name for name in NAMES if (folder / name).exists())


def check_library(path: Path) -> CheckedLibrary:
    """A library checked as `testbed check --fresh` does."""
    before = _cpu()
    check = check_file(path, CheckOptions(jobs=os.cpu_count() or 1), READERS)
    checked = _cpu()
    subprocess.run(("readelf", "--debug-dump=frames-interp", str(path)), stdout=subprocess.DEVNULL, check=False)
    return CheckedLibrary(check, checked - before, _cpu() - checked)


def _commit() -> str:
    said = subprocess.run(("git", "rev-parse", "--short", "HEAD"), capture_output=True, text=True, check=False)
    return said.stdout.strip()


def _cpu() -> float:
    """CPU seconds of this process and of those that it waited for."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def library_row(library: CheckedLibrary) -> tuple[str, ...]:
    """What the page's table says of a library, in the order of `HEAD`."""
    check = library.check
    total = check.total("instructions") or 1
    parts = [check.total(part) for part in ("executed", "forced", "static")]
    return (
        library.name,
        f"{len(check.functions):,}",
        f"{sum(function.calls > 0 for function in check.functions):,}",
        f"{total:,}",
        *(f"{part / total:.1%}" for part in (*parts, parts[0] + parts[1], sum(parts))),
        f"{check.compared:,}",
        str(sum(check.dropped.values())),
        str(len({finding.function for finding in check.findings})),
        f"{library.seconds:.0f}",
        f"{library.seconds / library.readelf:,.0f}" if library.readelf >= _PRINTED else "",
    )


def finding_rows(library: CheckedLibrary) -> Iterator[tuple[str, ...]]:
    """One row for each function with a finding: where, what, how it is known, how many instructions."""
    by_function: dict[tuple[str, str], list[TableFinding]] = {}
    for finding in library.check.findings:
        by_function.setdefault((finding.table, finding.function), []).append(finding)
    for (table, function), found in by_function.items():
        known = min((each.evidence for each in found), key=list(HowKnown).index)
        first = found[0]
        what = "; ".join(f"says {thing.says}, {thing.true}" for thing in first.things[:1]) or first.kind.value
        more = f" (and {first.functions - 1:,} functions more)" if first.functions > 1 else ""
        count = str(max(each.instructions for each in found))
        yield library.name, table, function, f"{first.where}: {what}{more}", known.value, count


def measure(folder: Path, paths: Iterable[Path]) -> None:
    """Check libraries, and keep what the page says of each."""
    for path in paths:
        try:
            library = check_library(path)
        except UsageError as error:  # a library without any table
            print(f"{path}: {error}", file=sys.stderr)
            continue
        tried = library.check.total("instructions") - library.check.total("never")
        data = read_json(folder / MEASURED)
        data[library.name] = {
            "row": [*library_row(library), _commit()],
            "tried": tried,
            "findings": list(finding_rows(library)),
        }
        (folder / MEASURED).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(" | ".join(library_row(library)), file=sys.stderr)


def read_json(path: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing where there is none."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def page(folder: Path) -> str:
    """The page, from its introduction, what was measured, and the judgements beside it."""
    verdicts, measured = read_json(folder / JUDGED), read_json(folder / MEASURED)
    names = sorted(measured, key=lambda name: (NAMES.index(name.split()[0]), list(FOLDERS).index(name.split()[1])))
    rows = [
        (*row, verdicts.get(f"{row[0]} {row[2]}", "not judged")) for name in names for row in measured[name]["findings"]
    ]
    false = [row for row in rows if row[6].startswith("false")]
    text = (folder / "check-of-libraries.intro.md").read_text(encoding="utf-8")
    return text.format(
        slow=" and ".join(name for name in names if float(measured[name]["row"][_SECONDS]) > MOST_SECONDS) or "none",
        libraries=_table(HEAD, [measured[name]["row"] for name in names]),
        findings=_table(("library", "table", "function", "first", "known by", "instructions", "judgement"), rows),
        compared=f"{sum(measured[name]['tried'] for name in names):,}",
        false=f"{sum(int(row[5]) for row in false):,}",
        executed=sum(row[4] == HowKnown.EXECUTED.value for row in false),
        unjudged=sum(row[6] == "not judged" for row in rows),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


if __name__ == "__main__":
    docs = Path(__file__).parents[2] / "docs" / "results"
    asked = sys.argv[1:]
    if asked != ["--page"]:
        measure(docs, [Path(name) for name in asked] or installed())
    (docs / "check-of-libraries.md").write_text(page(docs), encoding="utf-8")
