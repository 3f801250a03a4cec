"""Which code of a file is called: what others can call always, the rest where its first row is a function's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, FindingKind, HowKnown
from testbed.checks.options import MOST_STEPS, CheckOptions
from testbed.cli.table_readers import READERS
from testbed.image import read_image

pytest.importorskip("ziglang", reason="needs pip install ziglang")

EARLY = """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        push    %rbx
        mov     %rdi, %rbx
        pop     %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
"""
# As GCC writes a part that holds a landing pad only: the no-operation keeps its offset from being 0.
LANDING_PAD = """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        xor     %eax, %eax
        ret
        .cfi_endproc
        .size   f, .-f
        .cfi_startproc
        nop
        .cfi_def_cfa_offset 48
        .cfi_offset %rbx, -32
        mov     %rax, %rdi
        call    elsewhere
        ud2
        .cfi_endproc
"""
# A way back that two functions jump to, with their frame.
SHARED_END = """
        .syntax unified
        .arm
        .cfi_sections .debug_frame
        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        mov     r0, #1
        bx      lr
        .cfi_endproc
        .size   f, .-f
        .type   back, %function
back:   .cfi_startproc
        .cfi_rel_offset sp, 0
        .cfi_rel_offset lr, 4
        ldm     sp, {sp, pc}
        .cfi_endproc
        .size   back, .-back
"""


def checked(folder: Path, text: str, arch: str = "x86_64") -> FileCheck:
    path = folder / "code.S"
    path.write_text(text, encoding="utf-8")
    return check_file(path, CheckOptions(arch=arch, runs=20, steps=60), READERS)


def test_directives_before_the_first_instruction_are_found(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, EARLY).findings
    assert (finding.kind, finding.evidence, finding.where) == (FindingKind.WRONG_ROW, HowKnown.EXECUTED, "f")
    assert finding.things[0].says == "CFA = rsp+0x10" and finding.line == 8


@pytest.mark.parametrize(("text", "arch", "named"), [(LANDING_PAD, "x86_64", ""), (SHARED_END, "arm32", " (back)")])
def test_a_part_of_a_function_is_not_called_and_that_is_said(tmp_path: Path, text: str, arch: str, named: str) -> None:
    check = checked(tmp_path, text, arch)
    assert [function.name for function in check.functions] == ["f"]
    assert not check.findings
    assert any(note.startswith(f"not called, 1 place of code{named}: ") for note in check.notes), check.notes


# No symbol and no entry: a linker's stub, or what start code is to a stripped file. `f` has no size.
NAMELESS = """
        .section .init, "ax", @progbits
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        xor     %eax, %eax
        ret
        .cfi_endproc
        .text
        push    %rbx
        mov     $2, %eax
        pop     %rbx
        ret
        .p2align 4
        mov     $3, %eax
        ret
"""


def test_code_that_nothing_names_is_called_by_its_address(tmp_path: Path) -> None:
    """Up to the next one that is asked for; a function without a size does not reach into another section."""
    (tmp_path / "n.s").write_text(NAMELESS)
    linked = tmp_path / "libn.so"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu", "-shared", "-nostdlib", "-g0"]
    subprocess.run([*command, "-o", linked, tmp_path / "n.s"], check=True)
    start = next(s for name, s in read_image(linked).sections.items() if name == ".text").address
    first, second = f"{start:#x}", f"{start + 16:#x}"
    check = check_file(linked, CheckOptions(functions=(first, second)), READERS)
    said = [(f.name, f.without_row, f.never) for f in check.functions]
    assert said == [(first, 4, 0), (second, 2, 0)]
    assert {finding.kind for finding in check.findings} == {FindingKind.NO_ROW}
    alone = check_file(linked, CheckOptions(functions=(second, "f")), READERS)
    assert {f.name for f in alone.functions} == {"f", second}
    assert not check_file(linked, CheckOptions(), READERS).functions[1:]


def test_as_many_steps_can_be_asked_for_as_there_is_room_for(tmp_path: Path) -> None:
    (tmp_path / "f.s").write_text(EARLY)
    check = check_file(tmp_path / "f.s", CheckOptions(arch="x86_64", steps=MOST_STEPS, runs=2), READERS)
    assert not check.failures and check.functions[0].calls
    more = check_file(tmp_path / "f.s", CheckOptions(arch="x86_64", steps=MOST_STEPS + 1, runs=2), READERS)
    assert more.failures, "the command allows no more"
