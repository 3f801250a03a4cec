"""A check for CI services: GitHub's workflow commands, and JUnit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from testbed.checks.model import Severity, TableFinding
from testbed.report.check_github import github_lines
from testbed.report.check_report import BrokenInput, CheckReport, reported
from testbed.report.junit import check_junit
from tests.report.checked import CHECK, CLEAN, RESTORED, START, UNREADABLE, WRONG

REPORT = CheckReport(
    (reported(CHECK, [finding is WRONG for finding in CHECK.findings]), reported(CLEAN)),
    (BrokenInput(Path("x.o"), "x.o: no\nline two"),),
    ("f+0x4 was wrong",),
    Path("base.json"),
)


def lines(*findings: TableFinding) -> list[str]:
    return list(github_lines(CheckReport((reported(replace(CHECK, findings=findings)),))))


def test_a_finding_is_an_annotation_at_its_line_or_file() -> None:
    at_line, at_file, note, answer = lines(WRONG, RESTORED, START)
    assert at_line == (
        "::error file=zlib/crc32.S,line=120,title=wrong-row in .eh_frame::libz.so.1: crc32_z+0x4 (push rbx): the row "
        "says CFA = rsp+0x8, the true CFA is rsp+0x10 here: add `.cfi_def_cfa_offset 0x10` before it (.eh_frame; seen "
        "when it was executed; 3 more instructions by the same cause)"
    )
    assert at_file.startswith("::error file=build/libz.so.1,title=wrong-row in .eh_frame::crc32_z+0x10 (")
    assert note.startswith("::notice file=build/libz.so.1,title=start-without-row in .eh_frame::_start+0x0")
    assert answer.startswith("libz.so.1: 1 of 3 functions has a wrong row;")


def test_a_file_below_the_folder_is_named_relative_to_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (inside, outside, _) = lines(
        replace(WRONG, source=f"{tmp_path}/src/a.S"), replace(WRONG, pc=0x1008, source="/usr/a.S")
    )
    assert inside.startswith("::error file=src/a.S,line=120,")
    assert outside.startswith("::error file=/usr/a.S,line=120,")


def test_what_would_break_a_command_is_escaped() -> None:
    evil = "a,b:c%\r\n::warning::d\x1b"
    (command, _) = lines(replace(WRONG, source=evil, where=evil, instruction=evil))
    assert command.count("\n") == command.count("\r") == command.count("\x1b") == 0
    head, message = command.removeprefix("::error ").split("::", 1)
    assert head == "file=a%2Cb%3Ac%25\\r%0A%3A%3Awarning%3A%3Ad\\x1b,line=120,title=wrong-row in .eh_frame"
    assert message.startswith("libz.so.1: a,b:c%25\\r\\n::warning::d\\x1b (a,b:c%25")


def test_what_is_known_gone_or_broken_is_annotated() -> None:
    said = list(github_lines(REPORT))
    assert not any("crc32_z+0x4 " in line for line in said)
    assert "::notice::1 finding known from the baseline" in said
    assert "::notice::no longer found, and still in base.json: f+0x4 was wrong" in said
    assert "::error file=x.o,title=could not be checked::x.o: no%0Aline two" in said
    assert said[-1] == REPORT.answer


def suites(report: CheckReport) -> dict[str, dict[str, TestCase]]:
    return {suite.name: {case.name: case for case in suite} for suite in JUnitXml.fromstring(check_junit(report))}


def test_a_case_for_each_function_fails_with_each_of_its_findings() -> None:
    read = suites(REPORT)
    assert {name: list(cases) for name, cases in read.items()} == {
        "build/libz.so.1": ["crc32_z", "inflate", "_start"],
        "build/memcpy.o": ["memcpy"],
        "x.o": ["check"],
    }
    library = read["build/libz.so.1"]
    assert [type(result) for result in library["crc32_z"].result] == [Failure, Failure]
    assert "the true CFA is rsp+0x10 here" in library["crc32_z"].result[0].message
    assert library["crc32_z"].system_out.startswith("known: crc32_z+0x4 (push rbx)")
    assert [result.type for result in library["inflate"].result] == ["no-row", "unreadable"]
    assert read["build/memcpy.o"]["memcpy"].result == []
    assert [type(result) for result in read["x.o"]["check"].result] == [Error]


def test_what_was_not_tried_did_not_pass() -> None:
    (skipped,) = suites(REPORT)["build/libz.so.1"]["_start"].result
    assert isinstance(skipped, Skipped) and skipped.message == "it never returns: nothing to compare"


def test_a_case_fails_as_the_command_does() -> None:
    def failures(fail_on: Severity | None) -> int:
        read = suites(replace(REPORT, fail_on=fail_on))
        return sum(isinstance(r, Failure) for cases in read.values() for case in cases.values() for r in case.result)

    assert [failures(weight) for weight in (None, Severity.ERROR, Severity.NOTE)] == [0, 4, 5]
    assert replace(REPORT, fail_on=Severity.NOTE).failing == 5


def test_a_finding_outside_every_function_has_a_case() -> None:
    lost = replace(UNREADABLE, pc=0x9000, where="")
    (cases,) = suites(CheckReport((reported(replace(CHECK, findings=(lost,))),))).values()
    assert isinstance(cases["0x9000"].result[0], Failure)


def test_a_name_from_a_file_is_no_broken_xml() -> None:
    evil = "f\x1b<&\x00\udcff"
    check = replace(CHECK, findings=(replace(WRONG, where=evil),), notes=(evil,))
    check = replace(check, functions=(replace(CHECK.functions[0], name=evil),), path=Path("a\x01b"))
    (cases,) = suites(CheckReport((reported(check),))).values()
    assert list(cases) == ["f\\x1b<&\\x00\\udcff"]
