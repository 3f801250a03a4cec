"""Findings from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.referee.model import Finding
from testbed.referee.read_findings import read_findings
from testbed.words.errors import DataFileError

FINDING = """
[[finding]]
title = "it is wrong"
unwinder = "gdb"
tool = "gdb 13.1"
since = "2026-11-21"
program = "push_ret"
arch = "x86_64"
recipe = "clang-asm"
at = "work+0x8"
because = "it asks no table"
"""


def read(folder: Path, text: str) -> tuple[Finding, ...]:
    (folder / "findings.toml").write_text(text)
    return read_findings(str(folder / "strategy.py"))


def test_a_finding_has_its_reason_and_a_name(tmp_path: Path) -> None:
    (found,) = read(tmp_path, FINDING)
    assert (found.because, found.reference, found.of_technique) == ("it asks no table", "", False)
    assert found.id == "gdb-push_ret-x86_64-work+0x8"


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("program", "programs", "program: it is missing; a string is needed"),
        ("because", "limit", "because: it is missing; a string is needed"),
        ('"it asks no table"', "1", "because: a string is needed, not 1"),
    ],
)
def test_a_finding_without_what_it_needs_is_an_error(tmp_path: Path, written: str, instead: str, said: str) -> None:
    with pytest.raises(DataFileError, match=rf"findings\.toml: finding 1 'it is wrong': {said}"):
        read(tmp_path, FINDING.replace(written, instead, 1))
