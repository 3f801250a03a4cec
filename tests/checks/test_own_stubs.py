"""Imports whose callers rely on more than the ABI says: what stands for them keeps to that."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS

LEAF = """
	.syntax unified
	{mode}
	.text
	.globl	leaf
	.type	leaf, %function
leaf:	.cfi_startproc
	push	{{r7}}
	.cfi_def_cfa_offset 4
	.cfi_offset r7, -4
	mov	r7, sp
	.cfi_def_cfa_register r7
	push	{{lr}}
	bl	__gnu_mcount_nc
	cmp	r0, #7
	bne	1f
	adds	r0, r0, #1
1:	mov	sp, r7
	.cfi_def_cfa_register sp
	pop	{{r7}}
	.cfi_def_cfa_offset 0
	.cfi_restore r7
	bx	lr
	.cfi_endproc
	.size	leaf, . - leaf
"""


@pytest.mark.parametrize("mode", [".arm", ".thumb"])
def test_a_profilers_call_gives_back_the_return_address_and_its_word(tmp_path: Path, mode: str) -> None:
    """glibc's `__gnu_mcount_nc` takes the word off the stack that its caller pushed, also on a forced path."""
    path = tmp_path / "leaf.S"
    path.write_text(LEAF.format(mode=mode), encoding="ascii")
    found = check_file(path, CheckOptions(jobs=1, arch="arm32"), READERS)
    assert found.findings == ()
    assert found.total("executed") + found.total("forced") == found.total("instructions") == 10
