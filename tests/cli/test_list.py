"""``testbed list`` and ``testbed cache``."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from testbed.report.schemas import schema
from tests.cli.command import Testbed
from unwinders import UNWINDERS


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


def test_an_assumption_is_told_clause_by_clause(testbed: Testbed) -> None:
    told = testbed("list", "assumptions", "-u", "eh_*", "-u", "fp_chain")
    assert told.status == 0
    for unwinder in (UNWINDERS[name] for name in ("eh_frame", "eh_frame_hdr", "fp_chain")):
        assert unwinder.assumption
        own = told.out.partition(f"\n{unwinder.name}: " if unwinder.name != "fp_chain" else "fp_chain: ")[2]
        assert all(f"{clause.name}: {clause.holds}" in own for clause in unwinder.assumption.clauses)
    data = json.loads(testbed("list", "assumptions", "-u", "eh_frame", "--json").out)
    assert [(each["name"], each["form"]) for each in data] == [("eh_frame", "TableRow")]


@pytest.mark.parametrize(
    ("words", "answer"), [(("assumptions", "-u", "eh_fram"), "eh_frame"), (("programs", "-u", "x"), "assumptions")]
)
def test_a_wrong_choice_of_assumptions_is_told(testbed: Testbed, words: tuple[str, ...], answer: str) -> None:
    said = testbed("list", *words)
    assert said.status == 2
    assert answer in said.err


def test_cache_says_where_it_is(testbed: Testbed) -> None:
    assert re.search(r"\d+ files, [\d.]+ MB", testbed("cache").out)
