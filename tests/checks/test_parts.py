"""A function over which the testbed itself fails costs its own result, and no other's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.checks import groups, table_findings
from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.micro.exploring import Explorer

FUNCTION = """
.globl {0}
.type {0}, @function
{0}: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset {1}
 popq %rbx
 .cfi_def_cfa_offset 8
 ret
 .cfi_endproc
.size {0}, . - {0}
"""


@pytest.fixture
def fresh() -> Iterator[None]:
    groups.opened.cache_clear()
    yield
    groups.opened.cache_clear()


def checked(folder: Path, text: str) -> FileCheck:
    path = folder / "code.S"
    path.write_text(".text\n" + text)
    return check_file(path, CheckOptions(runs=100, steps=500), READERS)


def test_a_function_that_cannot_be_explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    explore = Explorer.explore

    def fails(self: Explorer, piece: Any, *args: Any, **named: Any) -> Any:
        if piece.name == "broken":
            raise IndexError("tuple index out of range")
        return explore(self, piece, *args, **named)

    monkeypatch.setattr(Explorer, "explore", fails)
    names = [("a", 16), ("broken", 16), ("b", 24), ("c", 16)]
    found = checked(tmp_path, "".join(FUNCTION.format(*each) for each in names))
    assert list(found.failures) == ["broken"]
    assert "IndexError: tuple index out of range (check_file.py" not in found.failures["broken"]
    assert [finding.function for finding in found.findings] == ["b"]
    tried = [(each.name, each.never == 0) for each in found.functions]
    assert tried == [("a", True), ("broken", False), ("b", True), ("c", True)]


def test_a_function_whose_findings_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    find_causes = table_findings.find_causes

    def fails(function: Any) -> Any:
        if len(function) == 4:
            raise KeyError("rbx")
        return find_causes(function)

    monkeypatch.setattr(table_findings, "find_causes", fails)
    broken = FUNCTION.format("broken", 24).replace(" ret", " nop\n ret")
    found = checked(tmp_path, broken + FUNCTION.format("b", 24))
    assert list(found.failures) == ["broken"] and "KeyError" in found.failures["broken"]
    assert [finding.function for finding in found.findings] == ["b"]
    monkeypatch.setenv("TESTBED_TRACEBACK", "1")
    with pytest.raises(KeyError):
        checked(tmp_path, broken)
