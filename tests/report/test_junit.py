"""The matrix as JUnit XML is well-formed, whatever programs and errors are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from testbed.campaign.results import Matrix, Unit, UnitResult
from testbed.report.junit import write_matrix_junit


def test_control_characters_are_spelled_out(tmp_path: Path) -> None:
    unit = Unit("bad\x1b[31m\x00name\x08", "x86_64", "clang-O2")
    failed = UnitResult(unit, failed="first\x0bline\nsecond\ud800 line\x07 & <b>")
    write_matrix_junit(Matrix((failed, UnitResult(unit, skipped="\x01")), 2), tmp_path / "x.xml")
    root = ET.fromstring((tmp_path / "x.xml").read_bytes())
    [suite] = root
    assert suite.attrib["name"] == r"bad\x1b[31m\x00name\x08"
    assert {child.attrib["message"] for case in suite for child in case} == {
        "first\\x0bline\nsecond\\ud800 line\\x07 & <b>".replace("\n", suite_newline(suite)),
        r"\x01",
    }


def suite_newline(suite: ET.Element) -> str:
    """An attribute keeps a line's end where the writer wrote it as a character reference."""
    return "\n" if any("\n" in child.attrib["message"] for case in suite for child in case) else " "
