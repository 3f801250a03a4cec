"""The matrix as JUnit XML, for continuous-integration services: one test case per cell."""

from __future__ import annotations

from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from testbed.campaign.results import Cell, Matrix
from testbed.words.printable import printable, printable_lines


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
            case.result = [Skipped(_said(result.skipped)) if result.skipped else Error(_said(result.failed))]
            suite.add_testcase(case)
    for suite in suites.values():
        xml.add_testsuite(suite)
    xml.write(str(path), pretty=True)


def _case(cell: Cell) -> TestCase:
    case = TestCase(
        printable(f"{cell.unit.arch}-{cell.unit.recipe}-{cell.unwinder}"), classname=printable(cell.unit.program)
    )
    if cell.first_unexplained:
        case.result = [Failure(_said(f"{cell.unexplained} unexplained sites: {cell.first_unexplained.sentence}"))]
    return case


def _said(text: str) -> str:
    """A text of several lines, of which XML knows every character."""
    return printable_lines(text)
