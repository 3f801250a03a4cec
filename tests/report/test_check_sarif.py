"""A check as SARIF: the official schema takes it, and a service finds each result again after lines have moved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema

from testbed.checks.model import FindingKind, WrongThing
from testbed.report.check_json import json_text
from testbed.report.check_report import BrokenInput, CheckReport, reported
from testbed.report.check_sarif import SARIF_SCHEMA, sarif_data
from tests.report.checked import CHECK, CLEAN, RESTORED, START, UNREADABLE, WRONG

OFFICIAL = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
REPORT = CheckReport(
    (reported(CHECK, [finding is WRONG for finding in CHECK.findings]), reported(CLEAN)),
    (BrokenInput(Path("x.o"), "no"),),
    ("gone",),
    Path("base.json"),
)


def valid(report: CheckReport, folder: Path | None = None) -> dict[str, Any]:
    """The only run of a report's SARIF, as it is read back."""
    data = json.loads(json_text(sarif_data(report, folder)))
    jsonschema.Draft4Validator(OFFICIAL, format_checker=jsonschema.FormatChecker()).validate(data)
    (run,) = data["runs"]
    return dict(run)


def results(*findings: Any, folder: Path | None = None) -> list[dict[str, Any]]:
    listed = valid(CheckReport((reported(replace(CHECK, findings=findings)),)), folder)["results"]
    assert isinstance(listed, list)
    return listed


def test_the_official_schema_takes_every_report() -> None:
    assert OFFICIAL["id"] == SARIF_SCHEMA
    for report in (REPORT, replace(REPORT, baseline=None, broken=()), CheckReport(())):
        valid(report)


def test_every_kind_is_a_rule_with_help_and_its_level() -> None:
    rules = valid(REPORT)["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [kind.value for kind in FindingKind]
    assert all(len(rule["help"]["text"]) > 80 for rule in rules)
    for result in valid(REPORT)["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["defaultConfiguration"]["level"] == result["level"]


def test_a_result_lies_at_its_line_or_at_its_address() -> None:
    at_line, at_address = (result["locations"][0] for result in results(WRONG, RESTORED))
    assert at_line["physicalLocation"] == {
        "artifactLocation": {"uri": "zlib/crc32.S"},
        "region": {"startLine": 120},
    }
    assert at_address["physicalLocation"] == {
        "artifactLocation": {"uri": "build/libz.so.1"},
        "region": {"startLine": 1},
        "address": {"absoluteAddress": 0x1010, "fullyQualifiedName": "crc32_z+0x10", "kind": "instruction"},
    }
    assert at_address["logicalLocations"][0]["name"] == "crc32_z"


def test_files_below_the_folder_are_named_relative_to_it(tmp_path: Path) -> None:
    def uri(source: str) -> str:
        (result,) = results(replace(WRONG, source=source), folder=tmp_path)
        return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])

    assert uri(f"{tmp_path}/src/a b.S") == "src/a%20b.S"
    assert uri("/usr/src/x%.S") == "file:///usr/src/x%25.S"
    assert uri("c:x.S") == "c%3Ax.S"


def test_a_fingerprint_stays_when_code_before_the_function_grows() -> None:
    def prints(*findings: Any) -> list[str]:
        return [result["partialFingerprints"]["unwindRow/v2"] for result in results(*findings)]

    assert prints(WRONG) == prints(replace(WRONG, pc=0x9004, line=300))
    assert prints(WRONG) == prints(replace(WRONG, where=f"{WRONG.function}+0x40")), "nor in the function"
    jumps = replace(WRONG, instruction="jne 0x1234")
    assert prints(jumps) == prints(replace(jumps, instruction="jne 0x5678")) != prints(WRONG)
    nowhere = replace(WRONG, things=(WrongThing("rbx", "still in rbx", "rbx is in no one place at all 7 visits"),))
    often = replace(nowhere, things=(WrongThing("rbx", "still in rbx", "rbx is in no one place at all 90 visits"),))
    assert prints(nowhere) == prints(often) != prints(WRONG)
    assert len(set(prints(WRONG, RESTORED, START, UNREADABLE))) == 4
    first, second = (r["partialFingerprints"]["primaryLocationLineHash"] for r in results(WRONG, replace(WRONG, pc=1)))
    assert (first[-2:], second[-2:]) == (":1", ":2") and first[:-2] == second[:-2]


def test_a_group_of_functions_is_known_by_all_of_them() -> None:
    """One more is a new alert, whichever of them lies first; their order is none."""
    rowless = [replace(WRONG, kind=FindingKind.NO_ROW, function=name, things=()) for name in ("a", "b", "c")]

    def print_of(*members: Any) -> str:
        (result,) = results(replace(members[0], alike=members))
        said: str = result["partialFingerprints"]["primaryLocationLineHash"]
        return said

    a, b, c = rowless
    assert print_of(a, b) == print_of(b, a)
    assert len({print_of(a, b), print_of(a, b, c), print_of(b, c)}) == 3


def test_what_the_baseline_knows_is_suppressed() -> None:
    states = {r["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]: r for r in valid(REPORT)["results"]}
    known, new = states["crc32_z+0x4"], states["inflate+0x0"]
    assert known["baselineState"] == "unchanged" and known["suppressions"][0]["kind"] == "external"
    assert new["baselineState"] == "new" and "suppressions" not in new


def test_a_file_that_could_not_be_checked_is_told() -> None:
    (invocation,) = valid(REPORT)["invocations"]
    assert not invocation["executionSuccessful"] and invocation["exitCode"] == 2
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "no"
    assert valid(CheckReport((reported(CLEAN),)))["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]
