"""What ``testbed check`` tells in every format: each file's findings in order, what a baseline knew, the status."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.checks.alike import divided
from testbed.checks.model import FileCheck, Severity, TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.own_sources import sources_of
from testbed.report.check_words import (
    answer,
    beside,
    consequence_words,
    evidence_words,
    file_name,
    instruction,
    near,
    no_patch_words,
    region,
    repair_words,
    sentence,
    wrong_things,
)
from testbed.report.phrases import count
from testbed.store.codec import decoded, encoded, json_of, json_text
from testbed.words.catalogue import matches, value_of
from testbed.words.errors import UsageError
from testbed.words.printable import printable, printable_lines

WEIGHTS = tuple(Severity)  # the heaviest first


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding, and whether a baseline knows it: it is told, and fails nothing."""

    finding: TableFinding
    known: bool = False


@dataclass(frozen=True, slots=True)
class ReportedFile:
    """A file's check with its findings in the order in which they are told."""

    check: FileCheck
    findings: tuple[ReportedFinding, ...]


@dataclass(frozen=True, slots=True)
class BrokenInput:
    """A file, or a function of one, that could not be checked, and why."""

    path: Path
    reason: str
    function: str = ""  # "": the whole file

    @property
    def what(self) -> str:
        """``libffi.so.8`` or ``ffi_call of libffi.so.8``."""
        return f"{self.function} of {self.path}" if self.function else str(self.path)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Everything that is told. ``gone`` are sentences of findings that a baseline has and the files have no more.

    ``fail_on`` is the lightest severity that fails; None: nothing does. ``relative_to`` is the folder that paths are
    told from; None: people are told them from the current one, and services from the top of the repository (`base`).
    """

    files: tuple[ReportedFile, ...]
    broken: tuple[BrokenInput, ...] = ()
    gone: tuple[str, ...] = ()
    baseline: Path | None = None
    fail_on: Severity | None = Severity.WARNING
    relative_to: Path | None = None

    @property
    def base(self) -> Path:
        """The folder that services are told paths from: where git's repository begins, or else the current one."""
        here = Path.cwd()
        tops = (each for each in (here, *here.parents) if (each / ".git").exists())
        return self.relative_to or next(tops, here)

    @property
    def findings(self) -> Iterator[ReportedFinding]:
        return (reported for file in self.files for reported in file.findings)

    @property
    def known(self) -> int:
        return sum(reported.known for reported in self.findings)

    def fails(self, reported: ReportedFinding) -> bool:
        """Whether a finding is new, and heavy enough to fail."""
        if self.fail_on is None or reported.known:
            return False
        return WEIGHTS.index(reported.finding.severity) <= WEIGHTS.index(self.fail_on)

    @property
    def failing(self) -> int:
        return sum(map(self.fails, self.findings))

    @property
    def status(self) -> int:
        """The exit status: 2 where a file could not be checked, 1 where something new was found, else 0."""
        return 2 if self.broken else 1 if self.failing else 0

    @property
    def answer(self) -> str:
        """The last line: one sentence over all files."""
        checks = [file.check for file in self.files]
        functions = sum(bool(broken.function) for broken in self.broken)
        files = len(self.broken) - functions
        if not checks:
            return f"nothing was checked: {count(files, 'file')} could not be." if files else "nothing was checked."
        name = file_name(checks[0]) if len(checks) == 1 else count(len(checks), "file")
        said = answer(name, checks).removesuffix(".")
        if self.known:
            said += f"; {self.known:,} of {count(len(list(self.findings)), 'finding')} known from the baseline"
        broken = [count(number, what) for number, what in ((functions, "function"), (files, "file")) if number]
        if broken:
            said += f"; {' and '.join(broken)} could not be checked"
        return f"{said}."


def reported(check: FileCheck, known: Sequence[bool] = ()) -> ReportedFile:
    """A check as it is told; ``known`` says of each of its findings whether the baseline has it.

    The heaviest findings come first, then it goes by address and table.
    """
    flags = known or [False] * len(check.findings)
    findings = [ReportedFinding(finding, flag) for finding, flag in zip(check.findings, flags, strict=True)]
    findings.sort(key=lambda r: (WEIGHTS.index(r.finding.severity), r.finding.pc, r.finding.table))
    return ReportedFile(check, tuple(findings))


# A baseline: findings that are known already, so that a check fails only for what is new.
#
# A file of JSON, an entry per finding, in an order that makes its diff readable. A finding is known by the name and the
# architecture of its file and by its fingerprint; not by the folder, nor by its address or line, which move. If two
# findings are alike and the baseline has one entry, one of them is new.

SCHEMA = 2  # 1: findings were known by their offset in the function, too
_KnownBy = tuple[str, str, str]


@dataclass(frozen=True, slots=True, order=True)
class KnownFinding:
    """An entry of a baseline. ``sentence`` is for people only: it names what is gone."""

    file: str
    arch: str
    table: str
    function: str
    fingerprint: str
    sentence: str

    @property
    def key(self) -> _KnownBy:
        return self.file, self.arch, self.fingerprint


def entry(check: FileCheck, finding: TableFinding) -> KnownFinding:
    """A finding as an entry."""
    name, arch = file_name(check), check.arch.name
    fingerprint = finding.fingerprint.encode("utf-8", "backslashreplace").decode("utf-8")
    return KnownFinding(name, arch, finding.table, finding.function, fingerprint, sentence(finding))


def baseline_text(checks: Sequence[FileCheck]) -> str:
    """All findings of some checks as a baseline."""
    entries = sorted(entry(check, finding) for check in checks for finding in _each(check))
    return json_text({"schema": SCHEMA, "findings": encoded(tuple[KnownFinding, ...], entries)})


def read_baseline(path: Path) -> tuple[KnownFinding, ...]:
    """The entries of a baseline. Raises UsageError where it cannot be read, or is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise UsageError(f"{path} is a baseline of another version ({data['schema']}); write it again")
        return decoded(tuple[KnownFinding, ...], data["findings"])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{path} is no baseline of testbed check: --write-baseline {path} writes one") from error


def told_beside(baseline: Sequence[KnownFinding], checks: Sequence[FileCheck]) -> tuple[ReportedFile, ...]:
    """The checks as they are told: with each finding, whether the baseline knows it.

    Of what is told once of several functions, what is known of them and what is new are two findings.
    """
    left = Counter(each.key for each in baseline)
    told = []
    for check in checks:
        parts = [
            part
            for finding in check.findings
            for part in divided(finding, [_take(left, entry(check, each).key) for each in finding.each])
        ]
        findings = tuple(finding for finding, _ in parts)
        told.append(reported(replace(check, findings=findings), [known for _, known in parts]))
    return tuple(told)


def _take(left: Counter[_KnownBy], key: _KnownBy) -> bool:
    left[key] -= 1
    return left[key] >= 0


def gone_from(baseline: Sequence[KnownFinding], checks: Sequence[FileCheck], options: CheckOptions) -> tuple[str, ...]:
    """What the baseline has and the checks have no more, as sentences.

    Only where it was looked for: in files that were checked, in the functions and tables that were asked for.
    """
    found = Counter(entry(check, finding).key for check in checks for finding in _each(check))
    looked_at = {(file_name(check), check.arch.name): check.tables for check in checks}
    gone = []
    for each in baseline:
        tables = looked_at.get((each.file, each.arch))
        if tables is not None and _asked_for(each, tables, options) and not _take(found, each.key):
            gone.append(f"{each.file}: {each.sentence}")
    return tuple(gone)


def _each(check: FileCheck) -> Iterator[TableFinding]:
    """The findings of a check, those of several functions one by one."""
    return (each for finding in check.findings for each in finding.each)


def _asked_for(known: KnownFinding, tables: Sequence[str], options: CheckOptions) -> bool:
    """A table that is not there any more has no findings; one that was left out says nothing of them."""
    return matches(known.function, options.functions) and (not options.tables or known.table in tables)


# The formats for programs in which a check can be told, by the name that is typed. Each loads what it needs.

# A check as GitHub's workflow commands: an annotation in the pull request for each finding.
#
#     ::error file=NAME,line=N,endLine=N,col=N,endColumn=N,title=TITLE::MESSAGE
#
# The place is that of the directive to change, or of the instruction behind which one is missing, seen from the
# repository, from its first to its last column.
#
# A per cent sign, a carriage return and a line feed are written %25, %0D, %0A; in the properties before the second
# ``::`` a colon and a comma too, %3A and %2C (GitHub Actions, workflow commands). GitHub shows ten annotations of a
# level and step; the job's log has all of them, and the answer as its last line.

_MOST_THINGS = 3
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github_lines(report: CheckReport) -> Iterator[str]:
    """The lines to print: a command for each new finding and each broken input, then what is known, then the answer.

    Notes that no line of a source can show are counted: ten annotations are all that GitHub shows.
    """
    for file in report.files:
        new = [reported for reported in file.findings if not reported.known]
        counted = [each for each in new if each.finding.severity is Severity.NOTE and not each.finding.source]
        yield from (_annotation(file.check, reported, report.base) for reported in new if reported not in counted)
        if counted:
            said = f"{count(len(counted), 'note')} on code of no source line: testbed check --notes lists them"
            yield _command("notice", said, file=near(str(file.check.path), report.base))
    for broken in report.broken:
        title = f"{printable(broken.function)} could not be checked".strip()
        yield _command("error", broken.reason, file=near(str(broken.path), report.base), title=title)
    if report.known:
        yield _command("notice", f"{count(report.known, 'finding')} known from the baseline")
    for gone in report.gone:
        yield _command("notice", f"no longer found, and still in {report.baseline}: {gone}")
    yield printable(report.answer)


def _annotation(check: FileCheck, reported: ReportedFinding, base: Path) -> str:
    """The title says what comes of it, the message in three lines what is wrong, what to change, how it is known.

    What is long is wrong about many registers by one cause: the first ones are told.
    """
    finding = reported.finding
    things = wrong_things(finding)
    more = f"; and {len(things) - _MOST_THINGS} more" if len(things) > _MOST_THINGS else ""
    there = f", {at}" if finding.source and (at := beside(finding, base)) else ""
    wrong = f"{instruction(finding)}{there}: {'; '.join(things[:_MOST_THINGS])}{more}"
    lines = (
        f"{check.path.name}: {wrong}" if finding.source else wrong,
        repair_words(finding, base) or no_patch_words(finding),
        f"{finding.kind.value} in {finding.table}; {evidence_words(finding)}",
    )
    file, line, column, behind, _ = (
        region(finding, sources_of(check.path)) if finding.source else (str(check.path), 0, 0, 0, "")
    )
    return _command(
        _LEVELS[finding.severity],
        "\n".join(filter(None, lines)),
        file=near(file, base),
        line=str(line or ""),
        endLine=str(line if behind else ""),
        col=str(column or ""),
        endColumn=str(behind - 1 if behind else ""),
        title=consequence_words(finding) or finding.kind.value,
    )


def _command(level: str, message: str, **properties: str) -> str:
    said = ",".join(
        f"{name}={_data(value).replace(':', '%3A').replace(',', '%2C')}" for name, value in properties.items() if value
    )
    return f"::{level}{' ' * bool(said)}{said}::{_data(message)}"


def _data(text: str) -> str:
    return printable_lines(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# What makes a form is loaded when it is asked for.
FORMATS: Mapping[str, Callable[[CheckReport], str]] = {
    "json": lambda report: json_of(value_of("testbed.report.check_json", "CheckForm"), report),
    "sarif": lambda report: json_text(value_of("testbed.report.check_sarif", "sarif_data")(report)),
    "github": lambda report: "".join(f"{line}\n" for line in github_lines(report)),
    "junit": lambda report: str(value_of("testbed.report.junit", "check_junit")(report)),
    "html": lambda report: str(value_of("testbed.report.check_html", "check_html")(report)),
}
# What a file holds by the end of its name, where no format is asked for.
FORMAT_OF_END: Mapping[str, str] = {".json": "json", ".sarif": "sarif", ".xml": "junit", ".html": "html"}
