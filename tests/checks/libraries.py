"""docs/check-of-libraries.md: `testbed check` on the installed libraries, every finding with a judgement by hand.

python -m tests.checks.libraries [NAME...]     write the page; only these libraries: libz.so.1 ...
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, HowKnown, TableFinding
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS

NAMES = ("libz.so.1", "libgcc_s.so.1", "libm.so.6", "libc.so.6", "libstdc++.so.6")
FOLDERS = {
    "x86_64": Path("/usr/lib/x86_64-linux-gnu"),
    "arm64": Path("/usr/aarch64-linux-gnu/lib"),
    "arm32": Path("/usr/arm-linux-gnueabihf/lib"),
}
_PRINTED = 0.005  # CPU seconds; in less, readelf found no table of call frames to print
HEAD = (
    *("library", "functions", "called", "instructions", "executed", "on forced paths", "statically", "tried"),
    *("visits compared", "paths thrown away", "functions with a finding", "CPU s", "times readelf"),
)


@dataclass(frozen=True, eq=False)
class CheckedLibrary:
    """One library's check, and the CPU seconds that it and ``readelf --debug-dump=frames-interp`` took."""

    arch: str
    check: FileCheck
    seconds: float
    readelf: float

    @property
    def name(self) -> str:
        return f"{self.check.path.name} {self.arch}"


def check_libraries(names: Sequence[str] = NAMES) -> Iterator[CheckedLibrary]:
    """Those of the libraries that are installed, checked as `testbed check` does."""
    for arch, folder in FOLDERS.items():
        for name in names:
            if (path := folder / name).exists():
                before = _cpu()
                check = check_file(path, CheckOptions(jobs=os.cpu_count() or 1), READERS)
                checked = _cpu()
                subprocess.run(
                    ("readelf", "--debug-dump=frames-interp", str(path)), stdout=subprocess.DEVNULL, check=False
                )
                yield CheckedLibrary(arch, check, checked - before, _cpu() - checked)


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
        *(f"{part / total:.1%}" for part in (*parts, sum(parts))),
        f"{check.compared:,}",
        str(sum(check.dropped.values())),
        str(len({finding.function for finding in check.findings})),
        f"{library.seconds:.0f}",
        f"{library.seconds / library.readelf:.0f}" if library.readelf >= _PRINTED else "",
    )


def finding_rows(libraries: Iterable[CheckedLibrary], verdicts: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """One row for each function with a finding: where, what, how it is known, how many instructions, the judgement."""
    for library in libraries:
        by_function: dict[tuple[str, str], list[TableFinding]] = {}
        for finding in library.check.findings:
            by_function.setdefault((finding.table, finding.function), []).append(finding)
        for (table, function), found in by_function.items():
            known = min((each.evidence for each in found), key=list(HowKnown).index)
            first = found[0]
            what = "; ".join(f"says {thing.says}, {thing.true}" for thing in first.things[:1]) or first.kind.value
            count = str(max(each.instructions for each in found))
            verdict = verdicts.get(f"{library.name} {function}", "not judged")
            yield library.name, table, function, f"{first.where}: {what}", known.value, count, verdict


def page(folder: Path, libraries: Sequence[CheckedLibrary]) -> str:
    """The page, from its introduction and the judgements beside it."""
    verdicts: Mapping[str, str] = json.loads((folder / "check-of-libraries.json").read_text(encoding="utf-8"))
    rows = list(finding_rows(libraries, verdicts))
    compared = sum(library.check.total("instructions") - library.check.total("never") for library in libraries)
    false = sum(int(row[5]) for row in rows if row[6].startswith("false"))
    text = (folder / "check-of-libraries.intro.md").read_text(encoding="utf-8")
    return text.format(
        libraries=_table(HEAD, map(library_row, libraries)),
        findings=_table(("library", "table", "function", "first", "known by", "instructions", "judgement"), rows),
        compared=f"{compared:,}",
        false=f"{false:,}",
        unjudged=sum(row[6] == "not judged" for row in rows),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


if __name__ == "__main__":
    docs = Path(__file__).parents[2] / "docs"
    found = list(check_libraries(sys.argv[1:] or NAMES))
    (docs / "check-of-libraries.md").write_text(page(docs, found), encoding="utf-8")
