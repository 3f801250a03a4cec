"""The matrix as JUnit XML, for continuous-integration services: one test case per cell."""

from __future__ import annotations

from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from testbed.campaign.results import Cell, Matrix


def write_matrix_junit(matrix: Matrix, path: Path) -> None:
    """Write one suite per program: a cell fails where a site is unexplained, a unit errors where it did not run."""
    xml = JUnitXml("testbed matrix")
    suites: dict[str, TestSuite] = {}
    for result in matrix.results:
        suite = suites.setdefault(result.unit.program, TestSuite(result.unit.program))
        for cell in result.cells:
            suite.add_testcase(_case(cell))
        if result.skipped or result.failed:
            case = TestCase(f"{result.unit.arch}-{result.unit.recipe}", classname=result.unit.program)
            case.result = [Skipped(result.skipped) if result.skipped else Error(result.failed)]
            suite.add_testcase(case)
    for suite in suites.values():
        xml.add_testsuite(suite)
    xml.write(str(path), pretty=True)


def _case(cell: Cell) -> TestCase:
    case = TestCase(f"{cell.unit.arch}-{cell.unit.recipe}-{cell.unwinder}", classname=cell.unit.program)
    if cell.first_unexplained:
        case.result = [Failure(f"{cell.unexplained} unexplained sites: {cell.first_unexplained.sentence}")]
    return case
