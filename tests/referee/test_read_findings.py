"""Findings from files: a limit by its name, or by trait and outcome among several."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.referee import REFEREES
from testbed.referee.gdb import limits
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
limit = "WITH_TABLES"
trait = "CODE_POINTER"
outcome = "wrong"
"""


def read(folder: Path, text: str) -> tuple[Finding, ...]:
    (folder / "findings.toml").write_text(text)
    return read_findings(str(folder / "strategy.py"), limits)


def test_a_finding_has_the_limit_that_its_strategy_has(tmp_path: Path) -> None:
    (found,) = read(tmp_path, FINDING)
    assert any(found.limit is limit for limit in REFEREES["gdb"].unwinders[0].limits)


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("WITH_TABLES", "WITH_TABLE", "limit: there is no 'WITH_TABLE'; did you mean WITH_TABLES"),
        ("CODE_POINTER", "CODE_POINTERS", "trait: there is no 'CODE_POINTERS'; did you mean CODE_POINTER"),
        ('"wrong"', '"wronk"', "outcome: there is no 'wronk'; did you mean wrong"),
        ('"wrong"', '"hung"', "limit: WITH_TABLES has none on CODE_POINTER that shows as hung on x86_64"),
        ("program", "programs", "program: it is missing; a string is needed"),
    ],
)
def test_a_limit_that_there_is_not_is_an_error(tmp_path: Path, written: str, instead: str, said: str) -> None:
    with pytest.raises(DataFileError, match=rf"findings\.toml: finding 1 'it is wrong': {said}"):
        read(tmp_path, FINDING.replace(written, instead, 1))
