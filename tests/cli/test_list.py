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


@pytest.mark.parametrize("what", ["programs", "unwinders", "referees", "recipes", "arches", "limits"])
def test_list_prints_json_by_its_schema(testbed: Testbed, what: str) -> None:
    said = testbed("list", what, "--json")
    assert said.status == 0, said.err
    data = json.loads(said.out)
    jsonschema.validate(data, schema("list"))
    assert len({each["name"] for each in data}) > 2


def test_limits_are_an_overview_and_of_a_named_strategy_told_whole(testbed: Testbed) -> None:
    overview = testbed("list", "limits")
    assert overview.status == 0
    assert len(overview.out.splitlines()) < 300
    named = re.search(r"testbed list limits -u (\w+)", overview.out)
    assert named is not None
    told = testbed("list", "limits", "-u", "eh_*", "-u", named[1])
    assert told.status == 0
    words = " ".join(told.out.split())
    for unwinder in (UNWINDERS[name] for name in (named[1], "eh_frame", "eh_frame_hdr")):
        assert unwinder.limits
        counted = re.search(rf"^{unwinder.name}: (\d+) limits$", told.out, re.M)
        assert counted and re.search(rf"^{unwinder.name} +{counted[1]} ", overview.out, re.M)
        for limit in unwinder.limits:
            assert limit.because in words
            assert limit.reference in told.out.replace("\n    ", "")
    data = json.loads(testbed("list", "limits", "-u", "eh_frame", "--json").out)
    assert {each["name"] for each in data} == {"eh_frame"}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("limits", "-u", "eh_fram"), "eh_frame"),
        (("programs", "-u", "x"), "limits"),
        (("limits", "-u", "lldb", "--share"), "share"),
    ],
)
def test_a_wrong_choice_of_limits_is_told(testbed: Testbed, words: tuple[str, ...], answer: str) -> None:
    said = testbed("list", *words)
    assert said.status == 2
    assert answer in said.err


def test_cache_says_where_it_is(testbed: Testbed) -> None:
    assert re.search(r"\d+ files, [\d.]+ MB", testbed("cache").out)
