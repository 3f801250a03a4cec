"""Every ``--json`` has a schema, and what is printed follows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from testbed.report.schemas import FOLDER, PRINTED, schema, schema_text
from tests.cli.command import Testbed


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["findings", "clang", "--json"], "findings"),
        (["fuzz", "--seeds", "1", "-a", "x86_64", "-r", "keystone", "-u", "eh_frame", "--json"], "fuzz"),
        (["list", "arches", "--json"], "list"),
        (["score", "-u", "fp_chain", "-a", "x86_64", "--json"], "score"),
    ],
)
def test_what_is_printed_follows_its_schema(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = testbed(*arguments)
    assert said.status == 0, said.err
    jsonschema.validate(json.loads(said.out), schema(name))


@pytest.mark.parametrize("name", PRINTED)
def test_a_schema_in_the_repository_is_the_one_that_its_form_makes(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert text == schema_text(PRINTED[name]), "python -m testbed.report.schemas writes it"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def declares_json(path: Path) -> bool:
    return bool(re.search(r'option\([^)]*"--json"', path.read_text(encoding="utf-8")))


def test_every_command_with_json_has_a_schema() -> None:
    folder = Path(__file__).parents[2] / "testbed"
    commands = {path.stem for path in (folder / "cli").glob("*.py") if declares_json(path)}
    schemas = {path.stem for path in (folder / "report" / "schema").glob("*.json")}
    assert commands <= schemas
