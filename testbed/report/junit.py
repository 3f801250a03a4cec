"""JUnit XML, for continuous-integration services: the matrix, a test case per cell, and a check, one per function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from testbed.checks.model import FunctionCheck, TableFinding
from testbed.report.check_report import CheckReport, ReportedFile, ReportedFinding
from testbed.report.check_words import functions_by_address, near, place, sentence, spot
from testbed.words.printable import printable, printable_lines

if TYPE_CHECKING:  # loads what judges, of which a check needs nothing here
    from testbed.campaign.cells import Cell, Matrix


def write_matrix_junit(matrix: Matrix, path: Path) -> None:
    """Write one suite per program: a cell fails where a site is unexplained, a unit errors where it did not run."""
    xml = JUnitXml("testbed matrix")
    suites: dict[str, TestSuite] = {}
    for result in matrix.results:
        suite = suites.setdefault(result.unit.program, TestSuite(printable(result.unit.program)))
        for cell in result.cells:
            suite.add_testcase(_case(cell))
        if result.skipped or result.failed:
            case = TestCase(f"{result.unit.arch}-{result.unit.recipe}", classname=printable(result.unit.program))
            case.result = [
                Skipped(printable_lines(result.skipped)) if result.skipped else Error(printable_lines(result.failed))
            ]
            suite.add_testcase(case)
    for suite in suites.values():
        xml.add_testsuite(suite)
    xml.write(str(path), pretty=True)


def _case(cell: Cell) -> TestCase:
    case = TestCase(
        printable(f"{cell.unit.arch}-{cell.unit.recipe}-{cell.unwinder}"), classname=printable(cell.unit.program)
    )
    if cell.first_unexplained:
        case.result = [
            Failure(
                printable_lines(f"{cell.unexplained} sites are not as they must be: {cell.first_unexplained.sentence}")
            )
        ]
    return case


# A check as JUnit XML: a suite for each file, a test case for each function.
#
# A function, or a part of one that is not called, fails where it has a new finding that is heavy enough, each finding
# a failure. It is skipped where nothing of it was executed: it did not pass. What does not fail stands in the case's
# output. A finding outside every function has a case of its own, and so has a file that could not be checked.


def check_junit(report: CheckReport) -> str:
    """The report as XML text."""
    xml = JUnitXml("testbed check")
    for file in report.files:
        xml.add_testsuite(_suite(report, file))
    for broken in report.broken:
        suite = TestSuite(printable(str(broken.path)))
        suite.add_testcase(
            _check_case(printable(broken.function) or "check", broken.path, [Error(printable_lines(broken.reason))])
        )
        xml.add_testsuite(suite)
    for suite in xml.iterchildren(TestSuite):
        del suite._elem.attrib["time"]  # of what was kept nothing ran, and of functions that run together none is known
    text: bytes = xml.tostring()
    return f"{text.decode('utf-8')}\n"


def _suite(report: CheckReport, file: ReportedFile) -> TestSuite:
    check = file.check
    suite = TestSuite(printable(str(check.path)))
    of: defaultdict[int, list[ReportedFinding]] = defaultdict(list)
    outside: list[ReportedFinding] = []
    covering = functions_by_address(check)
    for reported in file.findings:
        each = {(place(it), it.function): it for it in reversed(reported.finding.each)}  # of a macro, once a function
        for finding in reversed(each.values()):
            function = covering(finding.pc)
            (of[function.start] if function else outside).append(ReportedFinding(finding, reported.known))
    cases = []
    for function in check.pieces:
        found = of[function.start]
        results = [*_failures(report, found)] or _skipped(function)
        cases.append(_check_case(function.name, check.path, results, _told(report, found), _at(report, found)))
    for reported in outside:
        name = reported.finding.where or hex(reported.finding.pc)
        told = _told(report, [reported])
        cases.append(_check_case(name, check.path, _failures(report, [reported]), told, _at(report, [reported])))
    suite.add_testcases(cases)  # at once: each call counts all of them anew
    return suite


def _failures(report: CheckReport, found: list[ReportedFinding]) -> list[Failure]:
    """One failure of a test case, with a line for each finding: its place in the source, then what it says."""
    failing = [r.finding for r in found if report.fails(r)]
    if not failing:
        return []
    failure = Failure(sentence(failing[0], report.base), ", ".join(dict.fromkeys(each.kind.value for each in failing)))
    failure.text = "\n".join(_placed(report, each) for each in failing)
    return [failure]


def _placed(report: CheckReport, finding: TableFinding) -> str:
    at = f"{place(finding, report.base)}: " if finding.source else ""
    return f"{at}{sentence(finding, report.base)}"


def _skipped(function: FunctionCheck) -> list[Skipped]:
    if function.ran:
        return []
    return [Skipped(printable(function.note) or "nothing of it was executed")]


def _told(report: CheckReport, found: list[ReportedFinding]) -> str:
    """What is found and does not fail."""
    quiet = (r for r in found if not report.fails(r))
    return "\n".join(f"{'known' if r.known else r.finding.severity.value}: {_placed(report, r.finding)}" for r in quiet)


def _at(report: CheckReport, found: Sequence[ReportedFinding]) -> Mapping[str, str]:
    """The file and the line of the first finding that has them."""
    spots = (spot(each.finding) for each in found if each.finding.source)
    return next(({"file": printable(near(file, report.base)), "line": str(line)} for file, line, _ in spots), {})


def _check_case(
    name: str,
    path: Path,
    results: list[Failure | Skipped | Error],
    told: str = "",
    at: Mapping[str, str] = MappingProxyType({}),
) -> TestCase:
    case = TestCase(printable(name), classname=printable(path.name))
    case._elem.attrib.update(at)
    if results:
        case.result = results
    if told:
        case.system_out = told
    return case
