"""Rules that are taken out on purpose: each is in the code once, its test is there, and was seen to fail without it."""

from __future__ import annotations

import json
from dataclasses import astuple

import pytest

from tests.mutation.rooms import ROOT
from tests.mutation.taken_out import TAKEN_OUT, missing


@pytest.mark.parametrize("name", TAKEN_OUT)
def test_a_rule_and_its_test_are_there(name: str) -> None:
    assert missing(TAKEN_OUT[name]) == ""


def test_each_rule_was_noticed_when_it_was_taken_out() -> None:
    """As it is written now; `python docs/regenerate.py --odd-code` takes out those that are not."""
    kept = json.loads((ROOT / "docs" / "odd-code.json").read_text(encoding="utf-8"))
    assert kept == {name: list(astuple(rule)) for name, rule in TAKEN_OUT.items()}


def test_the_page_says_what_became_of_each_rule() -> None:
    page = (ROOT / "docs" / "odd-code.md").read_text(encoding="utf-8")
    for rule in TAKEN_OUT.values():
        test = rule.test.replace("::", "`: `")
        assert f"| {rule.what} | `{rule.module}` | noticed by `{test}` |" in page, rule.what
