"""Kept checks: the same content and question give the same check again, anything else is tried anew."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from testbed.checks import kept
from testbed.checks.kept import CHECKS, check_key, keep_check, kept_check, stands_alone
from testbed.checks.options import CheckOptions
from tests.report.checked import CHECK, CLEAN

ASKED = CheckOptions()


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))


def test_what_was_kept_comes_back_whole() -> None:
    assert kept_check(CHECK.path, b"code", ASKED) is None
    for check in (CHECK, CLEAN):
        keep_check(b"code", ASKED, check)
        assert kept_check(check.path, b"code", ASKED) == replace(check, kept=True)


def test_only_what_needs_no_other_file_is_kept() -> None:
    assert stands_alone(b"\x7fELF\x02\x01") and stands_alone(b"!<arch>\n/") and stands_alone(b"\xcf\xfa\xed\xfe")
    assert not any(map(stands_alone, (b'#include "x.h"\n', b"!<thin>\n/", b"")))  # a thin archive names other files


def test_it_is_told_under_the_path_of_today() -> None:
    keep_check(b"code", ASKED, CHECK)
    found = kept_check(Path("/elsewhere/libz.so"), b"code", ASKED)
    assert found is not None and found.path == Path("/elsewhere/libz.so")


OTHERS: dict[str, Any] = {
    "functions": ("f*",),
    "calls": ("f(1)",),
    "arch": "arm64",
    "tables": (".eh_frame",),
    "seed": 2,
    "runs": 3,
    "steps": 4,
    "flags": ("-O1",),
}


def test_another_content_or_question_is_another_check() -> None:
    keep_check(b"code", ASKED, CHECK)
    assert kept_check(CHECK.path, b"codf", ASKED) is None
    assert OTHERS.keys() | {"jobs"} == {field.name for field in fields(CheckOptions)}
    for name, value in OTHERS.items():
        assert kept_check(CHECK.path, b"code", replace(ASKED, **{name: value})) is None, name
    assert kept_check(CHECK.path, b"code", replace(ASKED, jobs=9)) is not None


@pytest.mark.parametrize(("name", "edited"), [("code_of", "edited"), ("versions_of", ("edited",))])
def test_other_code_is_another_check(monkeypatch: pytest.MonkeyPatch, name: str, edited: object) -> None:
    before = check_key(b"code", ASKED)
    monkeypatch.setattr(kept, name, lambda names: edited)
    assert check_key(b"code", ASKED) != before


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    for number in range(5):
        keep_check(bytes([number]), ASKED, CLEAN)
        os.utime(CHECKS.path(f"{check_key(bytes([number]), ASKED)}.checked"), (number, number))
        kept_check(CLEAN.path, bytes([0]), ASKED)  # used each time: never the oldest
    assert [kept_check(CLEAN.path, bytes([n]), ASKED) is not None for n in range(5)] == [True, False, False, True, True]
    assert CHECKS.usage()[0] == 3
