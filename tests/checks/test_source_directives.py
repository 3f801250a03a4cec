"""Advice for a source in which a wrong directive stands: it is to be written anew, and then the source is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.source_directives import is_said, written_anew
from testbed.cli.table_readers import READERS
from tests.checks.sources import check_of

SOURCE = """ .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbx # first
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %rbx, 0

 pushq %r12
 .cfi_adjust_cfa_offset 8 /* a word */
 .cfi_offset %r12, -24
 pushq %rbp
 .cfi_def_cfa_offset 32
 .cfi_offset %rbp, -32
 movq %rsp, %rbp
 .cfi_def_cfa_register %rbp
 subq $32, %rsp
 movl %edi, %ebx
 leal (%rbx,%rbx), %r12d
 addq $32, %rsp
 popq %rbp
 .cfi_def_cfa %rsp, 24
 .cfi_restore %rbp
 popq %r12
 .cfi_adjust_cfa_offset -8
 .cfi_restore %r12
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
"""
# What is written wrongly for what, the advice, and where the wrong one stands if not before the finding.
WRONG = {
    "a slot": (".cfi_offset %r12, -24", ".cfi_offset %r12, -16", ".cfi_offset r12, -0x18", ""),
    "another slot": (".cfi_offset %rbp, -32", ".cfi_offset %rbp, -24", ".cfi_offset rbp, -0x20", ""),
    "an offset": (".cfi_def_cfa_offset 32", ".cfi_def_cfa_offset 40", ".cfi_def_cfa_offset 0x20", ""),
    "a whole CFA": (".cfi_def_cfa %rsp, 24", ".cfi_def_cfa %rsp, 32", ".cfi_def_cfa %rsp, 0x18", ""),
    "a register": (
        ".cfi_def_cfa_register %rbp",
        ".cfi_def_cfa_register %rsp",
        ".cfi_def_cfa_register rbp",
        "before f+0x7",
    ),
}


# Another mistake, the advice, and what it stands for: nothing is advised that stands there already.
MISTAKES = {
    "another register": (
        (".cfi_offset %r12, -24", ".cfi_offset %r13, -24"),
        (".cfi_offset r12, -0x18",),
        (".cfi_offset %r13, -24",),
    ),
    "a slot of what is not saved": (
        (" movl %edi, %ebx", " .cfi_offset %r15, -40\n movl %edi, %ebx"),
        (),
        (".cfi_offset %r15, -40",),
    ),
    "a register by a wrong number": (
        (".cfi_offset %rbp, -32", ".cfi_offset 8, -32"),
        (".cfi_offset rbp, -0x20",),
        (".cfi_offset 8, -32",),
    ),
    "a slot of what is never changed": (
        (" movl %edi, %ebx", " movq %r14, (%rsp)\n .cfi_offset %r14, -56\n movl %edi, %ebx"),
        (".cfi_offset r14, -0x40",),
        (".cfi_offset %r14, -56",),
    ),
}

REMEMBERED = """ .text
 .globl f
 .type f, %function
f: .cfi_startproc
 sub sp, sp, #64
 .cfi_def_cfa_offset 64
 stp x29, x30, [sp, #48]
 .cfi_offset x29, -16
 .cfi_offset x30, -8
 add x29, sp, #48
 .cfi_def_cfa x29, 16
 cbnz x0, 3f
 .cfi_remember_state
 .cfi_def_cfa sp, 64
 ldp x29, x30, [sp, #48]
 add sp, sp, #64
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 ret
 .cfi_restore_state
3: bl more
 .cfi_def_cfa sp, 64
 ldp x29, x30, [sp, #48]
 add sp, sp, #64
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 ret
 .cfi_endproc
 .size f, . - f
"""


def findings(path: Path) -> tuple[TableFinding, ...]:
    return check_file(path, CheckOptions(runs=50, steps=200), READERS).findings


def test_the_source_is_right(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    path.write_text(SOURCE)
    assert findings(path) == ()


@pytest.mark.parametrize(("right", "wrong", "advice", "at"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_directive_is_to_be_written_anew(tmp_path: Path, right: str, wrong: str, advice: str, at: str) -> None:
    path = tmp_path / "code.S"
    assert SOURCE.count(right) == 1
    path.write_text(SOURCE.replace(right, wrong))
    (finding,) = findings(path)
    assert finding.repair is not None
    assert (finding.repair.directives, finding.repair.replaced, finding.repair.replaced_at) == ((advice,), (wrong,), at)
    path.write_text(SOURCE.replace(right, advice))
    assert finding.repair.later or findings(path) == ()


def test_a_missing_directive_is_to_be_added(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    path.write_text(SOURCE.replace(" .cfi_offset %r12, -24\n", ""))
    (finding,) = findings(path)
    assert finding.repair is not None and finding.repair.replaced == ()


def test_what_is_replaced_is_of_the_same_thing() -> None:
    assert written_anew([".cfi_adjust_cfa_offset -0x8"], [".cfi_adjust_cfa_offset 16"]) == (
        (".cfi_adjust_cfa_offset 0x8",),
        (".cfi_adjust_cfa_offset 16",),
    )
    assert written_anew([".cfi_adjust_cfa_offset 8"], [".cfi_def_cfa %rsp, 16"])[0] == (".cfi_def_cfa %rsp, 0x18",)
    assert written_anew([".cfi_offset rbx, -0x10"], [".cfi_offset %rbp, -16"])[1] == ()
    assert written_anew([".cfi_def_cfa_offset 0x8"], [".cfi_def_cfa_register %rbp"])[1] == ()
    assert written_anew([".cfi_def_cfa_register rbp"], [".cfi_def_cfa %rsp, 16"])[0] == (".cfi_def_cfa rbp, 16",)
    assert written_anew([".cfi_restore_state"], [".cfi_def_cfa_offset 8"])[1] == ()
    assert written_anew([".cfi_adjust_cfa_offset 8"], [".cfi_adjust_cfa_offset FRAME"])[1] == ()


@pytest.mark.parametrize(("mistake", "advice", "replaced"), MISTAKES.values(), ids=list(MISTAKES))
def test_nothing_is_advised_that_stands_there(
    tmp_path: Path, mistake: tuple[str, str], advice: tuple[str, ...], replaced: tuple[str, ...]
) -> None:
    path = tmp_path / "code.S"
    assert SOURCE.count(mistake[0]) == 1
    path.write_text(SOURCE.replace(*mistake))
    (finding,) = findings(path)
    assert finding.repair is not None
    assert (finding.repair.directives, finding.repair.replaced) == (advice, replaced)
    assert not finding.repair.later


def test_what_is_wrong_where_it_is_remembered_is_one_mistake(tmp_path: Path) -> None:
    (finding,) = check_of(
        tmp_path, REMEMBERED.replace(".cfi_def_cfa x29, 16", ".cfi_def_cfa x29, 64"), "arm64"
    ).findings
    assert finding.where == "f+0xc"
    assert finding.instructions == 2, "the call behind `.cfi_restore_state`, too"
    assert finding.repair is not None
    assert (finding.repair.directives, finding.repair.replaced) == ((".cfi_def_cfa sp, 64",), (".cfi_def_cfa x29, 64",))


def test_what_the_source_says_further_down_is_not_advised(tmp_path: Path) -> None:
    text = REMEMBERED.replace(" .cfi_offset x30, -8\n", "")
    (finding,) = check_of(tmp_path, text, "arm64").findings
    assert finding.where == "f+0x20" and finding.repair is not None
    assert finding.repair.directives == (".cfi_offset x30, -0x8",)
    assert finding.repair.later == (), "`.cfi_restore x30` stands where the state ends"


def test_what_is_wrong_behind_a_restored_state_only_is_told_there(tmp_path: Path) -> None:
    wrong = REMEMBERED.replace("3: bl more\n", "3: bl more\n sub sp, sp, #16\n bl more\n add sp, sp, #16\n")
    assert not check_of(tmp_path, wrong, "arm64").findings
    wrong = wrong.replace(".cfi_restore_state\n", ".cfi_restore_state\n .cfi_def_cfa sp, 64\n")
    (finding,) = check_of(tmp_path, wrong, "arm64").findings
    assert finding.where == "f+0x24"


def test_what_a_source_says_already() -> None:
    standing = (".cfi_def_cfa %rsp, 8", ".cfi_restore %rbx")
    for said in (".cfi_def_cfa_register rsp", ".cfi_def_cfa_offset 0x8", ".cfi_def_cfa rsp, 0x8", ".cfi_restore rbx"):
        assert is_said(said, standing), said
    for said in (".cfi_def_cfa_register rbp", ".cfi_def_cfa_offset 0x10", ".cfi_restore rbp", ".cfi_offset rbx, -0x10"):
        assert not is_said(said, standing), said


def test_of_two_directives_that_say_the_same_thing_the_last_one_counts() -> None:
    """The first is replaced by nothing: what stands behind it would still hold."""
    standing = [".cfi_def_cfa rbp, 16", ".cfi_def_cfa rsp, 16"]
    assert written_anew([".cfi_def_cfa rbp, 0x10"], standing) == ((".cfi_def_cfa rbp, 0x10",), (standing[1],))
    assert not is_said(".cfi_def_cfa rbp, 0x10", standing) and is_said(".cfi_def_cfa rsp, 0x10", standing)


def test_the_last_of_two_is_the_one_to_write_anew(tmp_path: Path) -> None:
    wrong = SOURCE.replace(".cfi_def_cfa %rsp, 24", ".cfi_def_cfa %rsp, 24\n .cfi_def_cfa %rsp, 32")
    (finding,) = check_of(tmp_path, wrong, "x86_64").findings
    assert finding.repair is not None
    assert finding.repair.directives == (".cfi_def_cfa %rsp, 0x18",)
    assert finding.repair.replaced == (".cfi_def_cfa %rsp, 32",)


def test_a_state_is_remembered_before_the_directives_that_change_it(tmp_path: Path) -> None:
    text = """ .globl g
 .type g, @function
g: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 16
 .cfi_offset %rbx, -16
 pushq %rbp
 .cfi_def_cfa_offset 24
 .cfi_offset %rbp, -24
 xorl %ebx, %ebx
 xorl %ebp, %ebp
 testl %edi, %edi
 je 1f
 popq %rbp
 .cfi_restore %rbp
 .cfi_def_cfa_offset 16
 popq %rbx
 .cfi_restore %rbx
 .cfi_def_cfa_offset 8
 ret
1: movl $1, %ebx
 movl $1, %ebp
 nop
 popq %rbp
 .cfi_restore %rbp
 .cfi_def_cfa_offset 16
 popq %rbx
 .cfi_restore %rbx
 .cfi_def_cfa_offset 8
 ret
 .cfi_endproc
 .size g, . - g
"""
    findings = check_of(tmp_path, text, "x86_64").findings
    repair = findings[0].repair
    assert repair is not None and repair.directives == (".cfi_restore_state",)
    assert repair.remembered == "the directives in front of g+0xb"
