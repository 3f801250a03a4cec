"""Kept checks: the same content and question give the same check again, anything else is tried anew."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from testbed.checks import kept
from testbed.checks.kept import clear, folder, keep_check, kept_check, key_of, stands_alone, usage
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


@pytest.mark.parametrize("name", ["code_of", "version_of"])
def test_other_code_is_another_check(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = key_of(b"code", ASKED)
    monkeypatch.setattr(kept, name, lambda package: "edited")
    assert key_of(b"code", ASKED) != before


def test_a_damaged_file_is_no_check() -> None:
    keep_check(b"code", ASKED, CHECK)
    path = folder() / key_of(b"code", ASKED)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"crc32_z", b"crc32_y", 1)):
        path.write_bytes(damaged)
        assert kept_check(CHECK.path, b"code", ASKED) is None
    path.write_bytes(whole)
    assert kept_check(CHECK.path, b"code", ASKED) is not None


def test_a_folder_that_cannot_be_written_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "file" / "cache"))
    keep_check(b"code", ASKED, CHECK)
    assert kept_check(CHECK.path, b"code", ASKED) is None


def test_the_oldest_are_forgotten_and_all_can_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    for number in range(5):
        keep_check(bytes([number]), ASKED, CLEAN)
        os.utime(folder() / key_of(bytes([number]), ASKED), (number, number))
        kept_check(CLEAN.path, bytes([0]), ASKED)  # used each time: never the oldest
    assert [kept_check(CLEAN.path, bytes([n]), ASKED) is not None for n in range(5)] == [True, False, False, True, True]
    assert usage()[0] == 3 and usage()[1] > 0
    (folder() / "notes.txt").write_text("mine")
    assert clear() == 3 and usage() == (0, 0) and (folder() / "notes.txt").exists()
