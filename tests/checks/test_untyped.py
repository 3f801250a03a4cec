"""Assembly that never says ``.type``: its functions are the labels at which one can only begin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, FindingKind
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS

# `inner` is a place that a jump leads to, `falls` one that control goes on to; `helper` is called.
TABLES = """
        .text
        .globl  sum, twice, inner, falls
        .hidden twice
twice:  .cfi_startproc
        leaq    (%rdi,%rdi), %rax
        ret
        .cfi_endproc
        .p2align 4
sum:    .cfi_startproc
        pushq   %rbx
        pushq   %rbp
        xorl    %eax, %eax
falls:  testq   %rsi, %rsi
        jle     inner
        call    helper
        jmp     inner
inner:  popq    %rbp
        popq    %rbx
        ret
helper: movl    $3, %eax
        ret
        .cfi_endproc
"""


def checked(folder: Path, text: str, **options: str) -> FileCheck:
    path = folder / "untyped.S"
    path.write_text(text, encoding="utf-8")
    return check_file(path, CheckOptions(**options), READERS)  # type: ignore[arg-type]


def test_labels_where_a_function_can_only_begin_are_functions(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="needs pip install ziglang")
    check = checked(tmp_path, TABLES)
    assert [function.name for function in check.functions] == ["twice", "sum", "helper"]
    assert check.total("never") == 0
    assert check.findings[0].where == "sum+0x1"
    assert {(finding.kind, finding.function) for finding in check.findings} == {(FindingKind.WRONG_ROW, "sum")}


def test_without_any_table_all_of_it_has_no_row(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="needs pip install ziglang")
    text = re.sub(r"\.cfi_\w+", "", TABLES)
    check = checked(tmp_path, text)
    assert {(each.kind, each.function) for each in check.findings} == {
        (FindingKind.NO_ROW, name) for name in ("twice", "sum", "helper")
    }


def test_a_file_that_says_which_is_a_function_is_taken_at_its_word(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="needs pip install ziglang")
    text = TABLES.replace(".hidden twice", ".type twice, @function\n .size twice, 5")
    names = {function.name for function in checked(tmp_path, text).functions}
    assert "twice" in names and names.isdisjoint(("sum", "helper"))
