"""A check as JUnit XML: a suite for each file, a test case for each function.

A function, or a part of one that is not called, fails where it has a new finding that is heavy enough, each finding a
failure. It is skipped where nothing of it was tried: it did not pass. What does not fail stands in the case's output. A
finding outside every function has a case of its own, and so has a file that could not be checked.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from testbed.checks.model import FunctionCheck, TableFinding
from testbed.report.check_report import CheckReport, ReportedFile, ReportedFinding
from testbed.report.check_words import functions_by_address, sentence
from testbed.words.printable import printable


def check_junit(report: CheckReport) -> str:
    """The report as XML text."""
    xml = JUnitXml("testbed check")
    for file in report.files:
        xml.add_testsuite(_suite(report, file))
    for broken in report.broken:
        suite = TestSuite(printable(str(broken.path)))
        suite.add_testcase(_case(printable(broken.function) or "check", broken.path, [Error(_lines(broken.reason))]))
        xml.add_testsuite(suite)
    text: bytes = xml.tostring()
    return text.decode("utf-8")


def _suite(report: CheckReport, file: ReportedFile) -> TestSuite:
    check = file.check
    suite = TestSuite(printable(str(check.path)))
    of: defaultdict[int, list[ReportedFinding]] = defaultdict(list)
    outside: list[ReportedFinding] = []
    covering = functions_by_address(check)
    for reported in file.findings:
        for finding in reported.finding.each:
            function = covering(finding.pc)
            (of[function.start] if function else outside).append(ReportedFinding(finding, reported.known))
    cases = []
    for function in check.pieces:
        found = of[function.start]
        results = [*_failures(report, found)] or _skipped(function)
        cases.append(_case(function.name, check.path, results, _told(report, found)))
    for reported in outside:
        name = reported.finding.where or hex(reported.finding.pc)
        told = _told(report, [reported])
        cases.append(_case(name, check.path, _failures(report, [reported]), told))
    suite.add_testcases(cases)  # at once: each call counts all of them anew
    return suite


def _failures(report: CheckReport, found: list[ReportedFinding]) -> list[Failure]:
    return [Failure(sentence(r.finding), r.finding.kind.value) for r in found if report.fails(r)]


def _skipped(function: FunctionCheck) -> list[Skipped]:
    if function.never < function.instructions:
        return []
    return [Skipped(printable(function.note) or "nothing of it was tried")]


def _told(report: CheckReport, found: list[ReportedFinding]) -> str:
    """What is found and does not fail."""
    return "\n".join(_quiet(r.finding, r.known) for r in found if not report.fails(r))


def _quiet(finding: TableFinding, known: bool) -> str:
    return f"{'known' if known else finding.severity.value}: {sentence(finding)}"


def _case(name: str, path: Path, results: list[Failure | Skipped | Error], told: str = "") -> TestCase:
    case = TestCase(printable(name), classname=printable(path.name))
    if results:
        case.result = results
    if told:
        case.system_out = told
    return case


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.splitlines())
