"""A landing pad is entered from a guessed call: where the guess is to blame its row is right, else it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.readers import Readers

pytest.importorskip("ziglang", reason="needs pip install ziglang")

# Without what instructions alone say of a pad: in large functions that is nothing.
READERS = Readers("unwinders:UNWINDERS", ("eh_frame",), "testbed.cli.table_readers:evaluate_rule")
# x21 is saved between the two calls; the pad belongs to the second one. Nothing in the code says so.
PAD = """
        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      g
        cbz     x0, 2f
        str     x21, [sp, #16]
        .cfi_offset x21, -16
        mov     x21, x0
        bl      g
        mov     x0, x21
        ldr     x21, [sp, #16]
        .cfi_restore x21
2:      ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        .cfi_offset x21, PLACE
        mov     x0, x21
        bl      abort
        .cfi_endproc
        .size   f, .-f
        .globl  abort
        .hidden abort
        .type   abort, %function
abort:  .cfi_startproc
        b       abort
        .cfi_endproc
        .size   abort, .-abort
"""


def found(folder: Path, place: int) -> list[TableFinding]:
    path = folder / "code.S"
    path.write_text(PAD.replace("PLACE", str(place)), encoding="utf-8")
    return list(check_file(path, CheckOptions(arch="arm64", runs=40, steps=100), READERS).findings)


def test_a_pad_with_the_row_of_another_call_is_right(tmp_path: Path) -> None:
    assert found(tmp_path, -16) == []


def test_a_pad_with_the_row_of_no_call_is_wrong(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, -8)
    assert finding.where == "f+0x28"


CALLS_IN_A_ROW = """
        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        bl      g
        bl      g
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x19
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        .cfi_offset x19, -16
        mov     x19, x0
        mov     x0, x19
        bl      abort
        .cfi_endproc
        .size   f, .-f
        .globl  abort
        .hidden abort
        .type   abort, %function
abort:  .cfi_startproc
        b       abort
        .cfi_endproc
        .size   abort, .-abort
"""


def test_a_pad_is_not_entered_from_a_call_that_was_just_made(tmp_path: Path) -> None:
    """Behind the first call stands another one: who is sent away by that is its callee, which has no frame."""
    path = tmp_path / "calls.S"
    path.write_text(CALLS_IN_A_ROW, encoding="ascii")
    checked = check_file(path, CheckOptions(jobs=1, arch="arm64", runs=40, steps=100), READERS)
    assert checked.findings == ()
    assert checked.total("never") == 0
