"""What ``testbed check`` tells in every format: each file's findings in order, what a baseline knew, the status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.checks.model import FileCheck, Severity, TableFinding
from testbed.report.check_words import answer, file_name
from testbed.report.phrases import count

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


def in_order(findings: Sequence[ReportedFinding]) -> tuple[ReportedFinding, ...]:
    """The heaviest first, then by address and table."""
    return tuple(sorted(findings, key=lambda r: (WEIGHTS.index(r.finding.severity), r.finding.pc, r.finding.table)))


def reported(check: FileCheck, known: Sequence[bool] = ()) -> ReportedFile:
    """A check as it is told; ``known`` says of each of its findings whether the baseline has it."""
    flags = known or [False] * len(check.findings)
    findings = [ReportedFinding(finding, flag) for finding, flag in zip(check.findings, flags, strict=True)]
    return ReportedFile(check, in_order(findings))
