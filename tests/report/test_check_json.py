"""A check as JSON: it follows its schema, holds everything that the check holds, and adds up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from testbed.report.check_json import CheckForm, json_text
from testbed.report.check_report import BrokenInput, CheckReport, reported
from testbed.report.schemas import schema
from testbed.store.codec import encoded
from tests.report.checked import CHECK, CLEAN, WRONG

REPORT = CheckReport(
    (reported(CHECK, [finding is WRONG for finding in CHECK.findings]), reported(CLEAN)),
    (BrokenInput(Path("x.o"), "no"),),
    ("gone",),
)


def test_it_follows_its_schema() -> None:
    data = json.loads(json.dumps(encoded(CheckForm, REPORT)))
    jsonschema.Draft202012Validator.check_schema(schema("check"))
    jsonschema.validate(data, schema("check"))
    assert data["schema"] == 2
    for extra in ({"files": None}, {"status": 3}, {"surprise": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | extra, schema("check"))


def test_it_adds_up() -> None:
    data = encoded(CheckForm, REPORT)
    assert (data["findings"], data["known"], data["failing"], data["status"]) == (6, 1, 4, 2)
    for file in data["files"]:
        coverage = file["coverage"]
        assert coverage["instructions"] == sum(coverage[part] for part in ("executed", "forced", "static", "never"))
        assert coverage["functions"] == len(file["functions"])
        assert coverage["never"] == sum(function["never"] for function in file["functions"])
    first = data["files"][0]["findings"][0]
    assert (first["source"], first["line"], first["known"]) == ("zlib/crc32.S", 120, True)
    assert first["repair"] == {
        "directives": [".cfi_def_cfa_offset 0x10"],
        "replaced": [],
        "replaced_at": None,
        "place": "before it",
        "remembered": None,
        "later": [],
        "repaired": 4,
    }


def test_a_name_that_is_no_text_is_still_json_for_everybody() -> None:
    finding = replace(WRONG, where="f\x1b\udcff", source="\udcff")
    text = json_text(encoded(CheckForm, CheckReport((reported(replace(CHECK, findings=(finding,))),))))
    (found,) = json.loads(text)["files"][0]["findings"]
    assert (found["where"], found["source"]) == ("f\x1b\\udcff", "\\udcff")
