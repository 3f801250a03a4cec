"""Code that is called by its address alone, and how many steps one call may have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FindingKind
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
