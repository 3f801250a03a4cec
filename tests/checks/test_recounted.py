"""What is advised where later directives count from it: written as it says, the source is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.sources import check_of

SOURCE = """ .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 16
 .cfi_offset %rbx, -16
 movl %edi, %ebx
 subq $32, %rsp
 .cfi_adjust_cfa_offset 32
 movl %ebx, (%rsp)
 movl (%rsp), %eax
 addl %ebx, %eax
 addq $32, %rsp
 .cfi_adjust_cfa_offset -32
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
"""
MADE, GIVEN_BACK = ".cfi_adjust_cfa_offset 32", ".cfi_adjust_cfa_offset -32"
LESS = ".cfi_adjust_cfa_offset -24"
LATER = ("f+0x13", (".cfi_def_cfa_offset 0x10",), (LESS,))
# What is written for what, and what later directives the advice names.
MISTAKES = {
    "both of a pair": ({MADE: ".cfi_adjust_cfa_offset 24", GIVEN_BACK: LESS}, (LATER,)),
    "an absolute one before": ({MADE: ".cfi_def_cfa_offset 40", GIVEN_BACK: LESS}, (LATER,)),
    "an absolute one behind": ({MADE: ".cfi_adjust_cfa_offset 24", GIVEN_BACK: ".cfi_def_cfa_offset 16"}, ()),
}


def test_the_source_is_right(tmp_path: Path) -> None:
    assert not check_of(tmp_path, SOURCE, "x86_64").findings


@pytest.mark.parametrize(("mistakes", "later"), MISTAKES.values(), ids=list(MISTAKES))
def test_the_advice_makes_the_source_right(
    tmp_path: Path, mistakes: dict[str, str], later: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
) -> None:
    text = SOURCE
    for right, wrong in mistakes.items():
        assert text.count(right + "\n") == 1
        text = text.replace(right + "\n", wrong + "\n")
    (finding,) = check_of(tmp_path, text, "x86_64").findings
    repair = finding.repair
    assert repair is not None
    assert tuple((each.where, each.directives, each.replaced) for each in repair.later) == later
    for said, replaced in ((repair.directives, repair.replaced), *((each[1], each[2]) for each in later)):
        assert text.count(replaced[0] + "\n") == 1
        text = text.replace(replaced[0] + "\n", said[0] + "\n")
    assert not check_of(tmp_path, text, "x86_64").findings
