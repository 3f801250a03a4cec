"""Every ``--json`` has a schema, and what is printed follows it."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest

from testbed.cli import COMMANDS
from testbed.report.schemas import FOLDER, PRINTED, schema, schema_text
from tests.cli.command import Testbed, tells


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["matrix", "--known-bugs", "clang", "--json"], "findings"),
        (["fuzz", "--seeds", "1", "-a", "x86_64", "-r", "keystone", "-u", "eh_frame", "--json"], "fuzz"),
        (["list", "arches", "--json"], "list"),
        (["score", "-u", "fp_chain", "-a", "x86_64", "--json"], "score"),
    ],
)
def test_what_is_printed_follows_its_schema(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = tells(testbed, 0, arguments)
    jsonschema.validate(json.loads(said.out), schema(name))


@pytest.mark.parametrize("name", PRINTED)
def test_a_schema_in_the_repository_is_the_one_that_its_form_makes(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert text == schema_text(PRINTED[name]), "python -m testbed.report.schemas writes it"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_every_command_with_json_has_a_schema() -> None:
    commands = {name: import_module(f"testbed.cli.{name}").command for name in COMMANDS}
    with_json = {name for name, command in commands.items() if any("--json" in param.opts for param in command.params)}
    assert with_json - {path.stem for path in FOLDER.glob("*.json")} == set()


# ``testbed list`` and ``testbed list cache``.


@pytest.mark.parametrize("what", ["programs", "unwinders", "recipes", "arches"])
def test_list_prints_each_catalogue(testbed: Testbed, what: str) -> None:
    said = tells(testbed, 0, ("list", what))
    expected = {"programs": "leaf_call", "unwinders": "eh_frame", "recipes": "clang-O2", "arches": "thumb"}
    assert expected[what] in said.out


@pytest.mark.parametrize("what", ["programs", "unwinders", "referees", "recipes", "arches", "assumptions"])
def test_list_prints_json_by_its_schema(testbed: Testbed, what: str) -> None:
    said = tells(testbed, 0, ("list", what, "--json"))
    data = json.loads(said.out)
    jsonschema.validate(data, schema("list"))
    assert len({each["name"] for each in data}) > 2


def test_cache_says_where_it_is(testbed: Testbed) -> None:
    assert re.search(r"\d+ files, [\d.]+ MB", testbed("list", "cache").out)
