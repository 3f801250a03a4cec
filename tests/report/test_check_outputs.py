"""A check in every format: each report as a whole in ``golden/outputs``; what schemas and readers say of it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import Failure, JUnitXml
from rich.console import Console

from testbed.checks.model import (
    FileCheck,
    FindingKind,
    FunctionCheck,
    HowKnown,
    Severity,
    SourcePlace,
    TableFinding,
    WrongThing,
)
from testbed.report.check_formats import FORMATS
from testbed.report.check_report import BrokenInput, CheckReport, reported
from testbed.report.check_sarif import SARIF_SCHEMA, sarif_data
from testbed.report.check_text import print_check
from testbed.report.check_words import sentence
from testbed.report.schemas import schema
from testbed.words.distribution import own_version
from testbed.words.printable import printable
from tests.golden.whole import golden
from tests.report.checked import (
    CHECK,
    CLEAN,
    FUNCTIONS,
    NO_ROW,
    RESTORED,
    START,
    STATIC,
    UNREADABLE,
    WHOLE_TABLE,
    WRONG,
)

OFFICIAL = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
EVIL = "f\x1b[2J,%:<&\r\n::error::\u202e\udcff\x00"
ODD = replace(UNREADABLE, where=EVIL, instruction=EVIL, table=EVIL, source=EVIL, line=1)
PARTS = FunctionCheck("memcpy.cold", 0x200, 0x210, 4, forced=4), FunctionCheck("_start", 0x300, 0x310, 4)
TWIN = replace(FUNCTIONS[0], start=0x5000, end=0x5100)
ROWLESS = tuple(replace(NO_ROW, function=name, where=name, pc=0x2000, repair=None) for name in ("inflate", "g", "h"))


def of(*checks: FileCheck, **more: Any) -> CheckReport:
    return CheckReport(tuple(map(reported, checks)), **more)


def found(*findings: TableFinding) -> FileCheck:
    return replace(CHECK, findings=findings)


REPORTS: Mapping[str, CheckReport] = {
    "mixed": CheckReport(
        (reported(CHECK, [finding is WRONG for finding in CHECK.findings]), reported(CLEAN)),
        (BrokenInput(Path("x.o"), "x.o: no\nline two"), BrokenInput(Path("y.o"), "why", "f")),
        ("f+0x4 was wrong",),
        Path("base.json"),
    ),
    "one": of(CHECK),
    "evil": of(
        replace(
            found(ODD, STATIC, replace(WRONG, where=EVIL, source=EVIL, instruction=EVIL)),
            path=Path("lib\x1b\udcff.so"),
            notes=(EVIL,),
            dropped={EVIL: 1},
            functions=(replace(FUNCTIONS[0], name=EVIL, note=EVIL),),
        )
    ),
    "parts": of(replace(CLEAN, parts=PARTS, findings=(replace(WRONG, pc=0x200, function="memcpy.cold"),))),
    "clean-parts": of(replace(CLEAN, parts=PARTS)),
    "whole-table": of(found(WRONG, WHOLE_TABLE)),
    "twins": of(replace(CHECK, functions=(*FUNCTIONS, TWIN), findings=(WRONG, RESTORED, replace(WRONG, pc=0x5004)))),
    "lost": of(found(replace(UNREADABLE, pc=0x9000, where=""))),
    "alike": of(found(replace(ROWLESS[0], alike=ROWLESS), replace(NO_ROW, kind=FindingKind.OTHER_ENTRY))),
    "nothing": CheckReport(()),
}


def printed(report: CheckReport, width: int = 100, **how: bool) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    print_check(console, report, **how)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


FORMS: Mapping[str, Callable[[CheckReport], str]] = {
    "txt": printed,
    "all.txt": lambda report: printed(report, coverage=True, notes=True),
    "narrow.txt": lambda report: printed(report, 60, coverage=True, notes=True),
    **{name: form for name, form in FORMATS.items() if name != "html"},  # test_check_page.py
}


EVERY_FORM = ("mixed", "evil", "alike", "lost", "nothing")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in REPORTS for form in FORMS if "txt" in form or name in EVERY_FORM]
)
def test_a_report_is_told_as_it_was(name: str, form: str, request: pytest.FixtureRequest) -> None:
    text = FORMS[form](REPORTS[name]).replace(f'"{own_version()}"', '"VERSION"')
    assert not set(text) & {"\x1b", "\u202e", "\udcff", "\r", "\x00"}
    assert not any(line.lstrip().startswith("::error::") for line in text.splitlines())
    golden(f"check/{name}.{form}", text, request)


def test_a_narrow_terminal_cuts_nothing() -> None:
    narrow, wide = (printed(of(CHECK), width, coverage=True, notes=True) for width in (60, 200))
    heads = [line for line in narrow.splitlines() if len(line) > 60]
    assert heads == narrow.splitlines()[-1:]  # the answer is one line at any width: the terminal folds it
    assert set(narrow.replace(",", "").split()) >= set(wide.replace(",", "").replace("─", "").split())


def _tried(number: int) -> FileCheck:
    return replace(CLEAN, functions=(replace(CLEAN.functions[0], executed=number),))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (_tried(16), "memcpy.o: every row that was tried is right; 16 of 32 instructions were tried (50.0 %)."),
        (_tried(0), "memcpy.o: nothing was tried, so nothing is known of its rows."),
        (found(START), "libz.so.1: every row that was tried is right; 184 of 324 instructions were tried (56.8 %); 16"),
    ],
)
def test_the_last_line_answers_for_what_was_tried_only(check: FileCheck, said: str) -> None:
    assert printed(of(check)).splitlines()[-1].startswith(said)


def test_each_kind_of_evidence_is_told_apart() -> None:
    told = {printed(of(found(replace(WRONG, evidence=known)))) for known in HowKnown}
    assert len(told) == len(HowKnown)
    nothing = WrongThing("row", "nothing", "and there is a caller to be found")
    assert sentence(replace(NO_ROW, things=(nothing,))) == sentence(NO_ROW)


@pytest.mark.parametrize(
    ("report", "status", "failing"),
    [
        (of(CHECK), 1, 5),
        (of(found(START)), 0, 0),
        (of(CLEAN), 0, 0),
        (of(CHECK, fail_on=None), 0, 0),
        (of(found(START), fail_on=Severity.NOTE), 1, 1),
        (of(found(START), fail_on=Severity.WARNING), 0, 0),
        (CheckReport((reported(CHECK, [True] * 6),)), 0, 0),
        (of(CLEAN, broken=(BrokenInput(Path("x"), "no"),)), 2, 0),
        (REPORTS["mixed"], 2, 4),
        (replace(REPORTS["mixed"], fail_on=Severity.NOTE), 2, 5),
    ],
)
def test_the_status_follows_what_is_new_and_how_heavy_it_is(report: CheckReport, status: int, failing: int) -> None:
    assert (report.status, report.failing) == (status, failing)
    failures = (r for suite in JUnitXml.fromstring(FORMATS["junit"](report)) for case in suite for r in case.result)
    assert sum(isinstance(result, Failure) for result in failures) == failing


@pytest.mark.parametrize("name", REPORTS)
def test_json_and_sarif_follow_their_schemas(name: str) -> None:
    data, sarif = (json.loads(FORMATS[form](REPORTS[name])) for form in ("json", "sarif"))
    jsonschema.validate(data, schema("check"))
    for extra in ({"files": None}, {"status": 3}, {"surprise": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | extra, schema("check"))
    for file in data["files"]:
        coverage = file["coverage"]
        assert coverage["instructions"] == sum(coverage[part] for part in ("executed", "forced", "static", "never"))
    assert OFFICIAL["id"] == SARIF_SCHEMA
    jsonschema.Draft4Validator(OFFICIAL, format_checker=jsonschema.FormatChecker()).validate(sarif)
    rules = sarif["runs"][0]["tool"]["driver"]["rules"]
    levels = [result["level"] for result in sarif["runs"][0]["results"]]
    assert levels == [finding["severity"] for file in data["files"] for finding in file["findings"]]
    for result in sarif["runs"][0]["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]


def results(*findings: TableFinding, folder: Path | None = None) -> list[dict[str, Any]]:
    return list(sarif_data(of(found(*findings)), folder)["runs"][0]["results"])


@pytest.mark.parametrize(
    ("source", "uri", "near"),
    [
        ("{}/src/a b.S", "src/a%20b.S", "src/a b.S"),
        ("/usr/src/x%.S", "file:///usr/src/x%25.S", "/usr/src/x%25.S"),
        ("c:x.S", "c%3Ax.S", "c%3Ax.S"),
    ],
)
def test_files_below_the_folder_are_named_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, uri: str, near: str
) -> None:
    monkeypatch.chdir(tmp_path)
    finding = replace(WRONG, source=source.format(tmp_path), place=None)
    (result,) = results(finding, folder=tmp_path)
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
    assert FORMATS["github"](of(found(finding))).startswith(f"::error file={near},line=120,")


def test_services_are_told_paths_from_the_top_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (folder := tmp_path / "crypto").mkdir()
    monkeypatch.chdir(folder)
    report = of(found(replace(WRONG, place=SourcePlace("leaf.S", 118, 9, ".cfi_offset x30, -16"))))
    for asked, name in ((report, "crypto/leaf.S"), (replace(report, relative_to=folder), "leaf.S")):
        assert FORMATS["github"](asked).startswith(f"::error file={name},line=118,col=9,")
        (result,) = sarif_data(asked)["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"] == {
            "artifactLocation": {"uri": name},
            "region": {"startLine": 118, "startColumn": 9, "snippet": {"text": ".cfi_offset x30, -16"}},
        }
        assert "leaf.S:118:9: error: the caller is lost\n" in printed(asked, 100)
    assert "\ncrypto/leaf.S:118:9: error" in printed(replace(report, relative_to=tmp_path), 100)


def prints(*findings: TableFinding) -> list[str]:
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results(*findings)]


NOWHERE = replace(WRONG, things=(WrongThing("rbx", "still in rbx", "rbx is in no one place at all 7 visits"),))
OFTEN = replace(WRONG, things=(WrongThing("rbx", "still in rbx", "rbx is in no one place at all 90 visits"),))
JUMPS = replace(WRONG, instruction="jne 0x1234")
A, B, C = (replace(WRONG, kind=FindingKind.NO_ROW, function=name, things=()) for name in ("a", "b", "c"))


def group(*members: TableFinding) -> TableFinding:
    return replace(members[0], alike=members)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (WRONG, replace(WRONG, pc=0x9004, line=300), True),
        (WRONG, replace(WRONG, where=f"{WRONG.function}+0x40"), True),
        (JUMPS, replace(JUMPS, instruction="jne 0x5678"), True),
        (NOWHERE, OFTEN, True),
        (group(A, B), group(B, A), True),
        *((one, other, False) for one, other in ((JUMPS, WRONG), (NOWHERE, WRONG), (WRONG, RESTORED))),
        *((one, other, False) for one, other in ((START, UNREADABLE), (START, WRONG), (UNREADABLE, RESTORED))),
        *((group(A, B), other, False) for other in (group(A, B, C), group(B, C))),
    ],
)
def test_a_fingerprint_stays_when_code_before_moves(one: TableFinding, other: TableFinding, same: bool) -> None:
    assert (prints(one) == prints(other)) is same
    first, second = prints(one, replace(one, pc=1))
    assert (first[-2:], second[-2:]) == (":1", ":2") and first[:-2] == second[:-2]


def test_what_a_terminal_would_obey_is_spelled_out() -> None:
    assert printable(EVIL) == "f\\x1b[2J,%:<&\\r\\n::error::\\u202e\\udcff\\x00"
