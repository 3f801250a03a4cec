"""What becomes of findings when a source is corrected: gone with another one, shown by another one, or left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from testbed.arch import X86_64
from testbed.checks.check_file import check_file
from testbed.checks.fixing import annotated, fixed
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
from testbed.checks.options import CheckOptions
from testbed.checks.own_sources import Sources
from testbed.checks.source_edits import NO_LINE, NoPatch, SourceChange, idiom, source_edits
from testbed.checks.source_statements import Around
from testbed.cli.fixing import fix_and_tell
from testbed.cli.table_readers import READERS
from testbed.report.check_report import CheckReport, reported
from testbed.report.check_sarif import sarif_data
from testbed.words.errors import BuildError

pytest.importorskip("ziglang", reason="needs pip install ziglang")

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


def test_a_function_that_nobody_misses_is_not_annotated_by_being_left() -> None:
    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        its = [finding("g")] if ".cfi" in text else [finding("f", 1), finding("g")]
        note = replace(LOST, severity=Severity.NOTE)
        return check(*(replace(each, kind=FindingKind.NO_ROW, bare=True, consequence=note) for each in its))

    found = annotated(PATH, "f:\n", checked("", ()), checked)
    assert [each.function for each in found.corrected] == ["f"]
    assert [(each.function, why) for each, why in found.left] == [("g", "why not")]


def test_what_does_not_assemble_is_said_in_one_line() -> None:
    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        raise BuildError("code.S: /tmp/w.s:50:1: error: a new frame", output=" ^\nmore", command=["cc"])

    found = fixed(PATH, "f:\n", check(finding("f", 1)), checked)
    assert [why for _, why in found.left] == ["the source does not assemble with it: a new frame"]


def test_of_a_place_that_no_source_shows_nothing_is_said_to_stand_there() -> None:
    change = SourceChange(0, (".cfi_def_cfa_offset 0x10",), offsets=(16, 16))
    with pytest.raises(NoPatch, match=NO_LINE):
        list(source_edits(change, Around(None, (), None), idiom("code.S", Sources(), ()), Sources()))


SHOWN_LATER = """\
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        testq   %rdi, %rdi
        je      1f
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
2:      pushq   %rax
        .cfi_def_cfa_offset 16
        call    abort@PLT
1:      cmpq    $7, %rsi
        je      2b
        ret
        .cfi_endproc
        .size   f, .-f
"""


def test_a_source_keeps_the_ends_of_its_lines_and_what_shows_later_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "code.S"
    path.write_bytes(SHOWN_LATER.replace("\n", "\r\n").encode())
    assert fix_and_tell([path], CheckOptions(arch="x86_64", runs=60, steps=200), None, writes=True, base=None) == 0
    assert capsys.readouterr().out.endswith(
        "1 finding corrected, and 1 that showed by that; a second check finds nothing wrong.\n"
    )
    written = path.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n") == SHOWN_LATER.count("\n") + 3


def test_behind_a_last_line_without_an_end_is_written_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "code.S"
    path.write_text(".text\n.globl f\n.type f, @function\nf: push %rbx\n pop %rbx\n ret", encoding="utf-8")
    assert fix_and_tell([path], CheckOptions(arch="x86_64", runs=60, steps=200), None, writes=True, base=None) == 0
    assert "a second check finds nothing wrong" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8").endswith(" ret\n\t.cfi_endproc")


WRONG = """\
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        /* \u00fc\U0001d11e */ .cfi_def_cfa_offset  24 # of it
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
"""


@pytest.mark.parametrize(
    "text",
    [WRONG, WRONG.replace("\n", "\r\n"), f"\ufeff{WRONG}"[:-1]],
    ids=["plain", "CRLF", "BOM, no last end"],
)
def test_what_a_service_replaces_is_what_is_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "code.S"
    path.write_bytes(text.encode())
    options = CheckOptions(arch="x86_64", runs=60, steps=200)
    data = sarif_data(CheckReport((reported(check_file(path, options, READERS)),)), tmp_path)
    assert data["runs"][0]["columnKind"] == "unicodeCodePoints"
    (result,) = data["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    lines = text.splitlines(keepends=True)
    said = lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]
    assert region["snippet"]["text"] == said == ".cfi_def_cfa_offset  24"
    (change,) = result["fixes"][0]["artifactChanges"]
    starts = [0, *accumulate(map(len, lines))]
    for each in sorted(change["replacements"], key=lambda each: -each["deletedRegion"]["startLine"]):
        gone = each["deletedRegion"]
        start, end = (starts[gone[f"{at}Line"] - 1] + gone[f"{at}Column"] - 1 for at in ("start", "end"))
        text = text[:start] + each["insertedContent"]["text"] + text[end:]
    assert fix_and_tell([path], options, None, writes=True, base=None) == 0
    assert path.read_bytes().decode() == text


INCLUDED = "        movq    %rdi, %rbx\n        popq    %rbx\n        .cfi_def_cfa_offset 8\n        ret\n"
INCLUDING = """        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_offset %rbx, -16
#include "rest.S"
        .cfi_endproc
        .size   f, .-f
"""


def test_what_is_missing_before_an_include_is_written_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rest = tmp_path / "code.S", tmp_path / "rest.S"
    path.write_text(INCLUDING, encoding="utf-8")
    rest.write_text(INCLUDED, encoding="utf-8")
    assert fix_and_tell([path], CheckOptions(arch="x86_64", runs=60, steps=200), None, writes=True, base=None) == 0
    assert "a second check finds nothing wrong" in capsys.readouterr().out
    line = "        pushq   %rbx\n"
    assert path.read_text(encoding="utf-8") == INCLUDING.replace(line, f"{line}        .cfi_def_cfa_offset 16\n")
    assert rest.read_text(encoding="utf-8") == INCLUDED


IN_ONE_LINE = (
    " .text; .globl f, g; .type f, @function; .type g, @function\n"
    "f: .cfi_startproc; pushq %rbx; .cfi_adjust_cfa_offset 8; popq %rbx; .cfi_adjust_cfa_offset -8; ret; .cfi_endproc; "
    "g: .cfi_startproc; pushq %rbp; .cfi_adjust_cfa_offset 8; xorl %ebp, %ebp; popq %rbp; .cfi_adjust_cfa_offset -8; "
    "ret; .cfi_endproc\n"
)


def test_a_function_that_begins_in_the_line_of_another_is_corrected(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    path.write_text(IN_ONE_LINE, encoding="utf-8")
    assert fix_and_tell([path], CheckOptions(arch="x86_64", runs=60, steps=200), None, writes=True, base=None) == 0
    said, back = "%rbp; .cfi_adjust_cfa_offset 8", "-8; ret; .cfi_endproc\n"
    new = IN_ONE_LINE.replace(said, f"{said}; .cfi_offset %rbp, -16").replace(back, f"-8; .cfi_restore %rbp;{back[3:]}")
    assert path.read_text(encoding="utf-8") == new
