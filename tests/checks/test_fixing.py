"""What becomes of findings when a source is corrected: gone with another one, shown by another one, or left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from testbed.arch import X86_64
from testbed.checks.fixing import fixed
from testbed.checks.model import (
    Consequence,
    FileCheck,
    FindingKind,
    HowKnown,
    Repair,
    Severity,
    SourceEdit,
    TableFinding,
    WrongThing,
)
from testbed.words.errors import BuildError

PATH = Path("code.S")
LOST = Consequence(Severity.ERROR, "the caller is lost", "", "")


def finding(function: str, line: int = 0) -> TableFinding:
    """A wrong row of a function; with a line, one more line corrects it."""
    thing = WrongThing("CFA", "CFA = rsp+8", "the true CFA is rsp+16 here")
    edits = (SourceEdit(str(PATH), line, 1, "", ".cfi\n"),) if line else ()
    repair = Repair((), "", 1, edits=edits, no_patch="" if line else "why not")
    kind, known = FindingKind.WRONG_ROW, HowKnown.EXECUTED
    return TableFinding(
        kind, ".eh_frame", function, 0, function, "", (thing,), known, 1, repair=repair, consequence=LOST
    )


def check(*findings: TableFinding) -> FileCheck:
    return FileCheck(PATH, X86_64, (".eh_frame",), (), findings, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("stays", "corrected", "left"), [((), ["f", "g"], []), (("g",), ["f"], [("g", "why not")])], ids=["gone", "stays"]
)
def test_what_is_gone_with_another_is_not_left(
    stays: Sequence[str], corrected: list[str], left: list[tuple[str, str]]
) -> None:
    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        now = [finding(name) for name in stays] if ".cfi" in text else [finding("f", 1), finding("g")]
        return check(*(each for each in now if not functions or each.function in functions))

    found = fixed(PATH, "f:\n", check(finding("g"), finding("f", 1)), checked)
    assert found.new == ".cfi\nf:\n"
    assert sorted(each.function for each in found.corrected) == corrected
    assert [(each.function, why) for each, why in found.left] == left


def test_what_does_not_assemble_is_said_in_one_line() -> None:
    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        raise BuildError("code.S: /tmp/w.s:50:1: error: a new frame", output=" ^\nmore", command=["cc"])

    found = fixed(PATH, "f:\n", check(finding("f", 1)), checked)
    assert [why for _, why in found.left] == ["the source does not assemble with it: a new frame"]
