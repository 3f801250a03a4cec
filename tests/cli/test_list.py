"""``testbed list`` and ``testbed cache``."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from testbed.report.schemas import schema
from tests.cli.command import Testbed


@pytest.mark.parametrize("what", ["programs", "unwinders", "recipes", "arches"])
def test_list_prints_each_catalogue(testbed: Testbed, what: str) -> None:
    said = testbed("list", what)
    assert said.status == 0
    expected = {"programs": "leaf_call", "unwinders": "eh_frame", "recipes": "clang-O2", "arches": "thumb"}
    assert expected[what] in said.out


@pytest.mark.parametrize("what", ["programs", "unwinders", "referees", "recipes", "arches", "assumptions"])
def test_list_prints_json_by_its_schema(testbed: Testbed, what: str) -> None:
    said = testbed("list", what, "--json")
    assert said.status == 0, said.err
    data = json.loads(said.out)
    jsonschema.validate(data, schema("list"))
    assert len({each["name"] for each in data}) > 2


def test_cache_says_where_it_is(testbed: Testbed) -> None:
    assert re.search(r"\d+ files, [\d.]+ MB", testbed("cache").out)
