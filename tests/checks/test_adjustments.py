"""A forgotten `.cfi_adjust_cfa_offset` is one finding, and what it advises makes the source right."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS

pytest.importorskip("ziglang", reason="needs pip install ziglang")

# Every directive counts from the ones before. A line with ``#!`` is left out in one case, with all of its name.
SOURCES = {
    "x86_64": """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbp
        .cfi_adjust_cfa_offset 8 #!enters
        .cfi_rel_offset %rbp, 0
        pushq %rbx
        .cfi_adjust_cfa_offset 8 #!saves
        .cfi_rel_offset %rbx, 0
        subq $24, %rsp
        .cfi_adjust_cfa_offset 24 #!room #!both
        movq %r12, 8(%rsp)
        .cfi_rel_offset %r12, 8
        movq %rdi, %rbx
        movq %rsi, %r12
        leaq (%rbx,%r12), %rax
        movq 8(%rsp), %r12
        .cfi_restore %r12
        addq $24, %rsp
        .cfi_adjust_cfa_offset -24 #!both
        popq %rbx
        .cfi_adjust_cfa_offset -8 #!takes
        .cfi_restore %rbx
        popq %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size f, .-f
""",
    "arm64": """
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        stp x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32 //!enters
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        sub sp, sp, #16
        .cfi_adjust_cfa_offset 16 //!room //!both
        stp x19, x20, [sp]
        .cfi_rel_offset x19, 0
        .cfi_rel_offset x20, 8
        mov x19, x0
        mov x20, x1
        add x0, x19, x20
        ldp x19, x20, [sp], #16
        .cfi_adjust_cfa_offset -16 //!both //!takes
        .cfi_restore x19
        .cfi_restore x20
        ldp x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size f, .-f
""",
    "arm32": """
        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        push {r4, lr}
        .cfi_adjust_cfa_offset 8 @!enters
        .cfi_rel_offset r4, 0
        .cfi_rel_offset lr, 4
        sub sp, #16
        .cfi_adjust_cfa_offset 16 @!room @!both
        str r5, [sp, #4]
        .cfi_rel_offset r5, 4
        mov r4, r0
        mov r5, r1
        add r0, r4, r5
        ldr r5, [sp, #4]
        .cfi_restore r5
        add sp, #16
        .cfi_adjust_cfa_offset -16 @!both
        pop {r4, pc}
        .cfi_endproc
        .size f, .-f
""",
}
CASES = [
    (arch, name)
    for arch, text in SOURCES.items()
    for name in ("enters", "saves", "room", "takes", "both")
    if f"!{name}" in text
]


def checked(path: Path, text: list[str], arch: str) -> FileCheck:
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return check_file(path, CheckOptions(arch=arch, runs=100, steps=500), READERS)


@pytest.mark.parametrize("arch", SOURCES)
def test_the_sources_are_right_as_they_are(tmp_path: Path, arch: str) -> None:
    assert not checked(tmp_path / "code.S", SOURCES[arch].splitlines(), arch).findings


@pytest.mark.parametrize(("arch", "name"), CASES)
def test_a_forgotten_adjustment_is_one_finding_and_its_advice_repairs_the_source(
    tmp_path: Path, arch: str, name: str
) -> None:
    text = ["" if f"!{name}" in line else line for line in SOURCES[arch].splitlines()]
    (finding,) = checked(tmp_path / "code.S", text, arch).findings
    repair = finding.repair
    assert repair is not None
    assert repair.directives[0].startswith(".cfi_adjust_cfa_offset ")
    assert repair.repaired == finding.instructions > 0
    # Where a directive ends at a later instruction, that is the one behind the line that was left out there.
    last = max(k for k, line in enumerate(text) if not line)
    for later in repair.later:
        text[last] = "; ".join(later.directives) if arch != "arm64" else "\n".join(later.directives)
    line = finding.line - 1
    if repair.place != "before it":
        assert repair.place.startswith("before `.cfi_rel_offset ") and len(repair.directives) == 1
        line = max(k for k in range(line) if repair.place.split("`")[1] in text[k])
    text[line] = "\n".join((*repair.directives, text[line]))
    assert len(repair.later) == (name == "both")
    assert not checked(tmp_path / "code.S", text, arch).findings


def test_two_forgotten_adjustments_are_two_findings(tmp_path: Path) -> None:
    lines = SOURCES["x86_64"].splitlines()
    text = ["" if "!enters" in line or "!room" in line else line for line in lines]
    found = checked(tmp_path / "code.S", text, "x86_64").findings
    assert [finding.repair and finding.repair.directives[0] for finding in found] == [
        ".cfi_adjust_cfa_offset 0x8",
        ".cfi_adjust_cfa_offset 0x18",
    ]


def test_an_offset_that_a_directive_says_itself_is_no_sum(tmp_path: Path) -> None:
    """What comes later does not count from the wrong directive."""
    text = SOURCES["x86_64"].replace(".cfi_adjust_cfa_offset 24", ".cfi_def_cfa_offset 32")
    text = text.replace(".cfi_adjust_cfa_offset -24", ".cfi_def_cfa_offset 24")
    text = text.replace(".cfi_rel_offset %r12, 8", ".cfi_offset %r12, -40")
    found = checked(tmp_path / "code.S", text.splitlines(), "x86_64").findings
    (finding,) = found
    assert finding.repair is not None
    assert finding.repair.directives[0] == ".cfi_def_cfa_offset 0x30"
