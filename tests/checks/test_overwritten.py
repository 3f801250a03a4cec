"""What is overwritten on the way: a link register by a call, which is a finding, and a frame by its own stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.checks.model import HowKnown
from tests.checks.sources import check_of

pytest.importorskip("ziglang", reason="needs pip install ziglang")


# What is called is another file's, so it may never come back; that its row is right then is what the instructions deny.
KEEPS_NO_RETURN_ADDRESS = {
    "arm64": """
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        str x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        FORCED
        bl elsewhere
        add x0, x0, #1
        ldr x30, [sp], #16
        .cfi_def_cfa_offset 0
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
        .cfi_def_cfa_offset 8
        .cfi_offset r4, -8
        FORCED
        bl elsewhere
        add r4, r0, #1
        pop {r4, pc}
        .cfi_endproc
        .size f, .-f
""",
}


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("arch", KEEPS_NO_RETURN_ADDRESS)
def test_a_return_address_that_a_call_of_another_file_overwrites(tmp_path: Path, arch: str, forced: bool) -> None:
    """Without `.cfi_offset` of the link register: right up to the call, wrong behind it."""
    never = {"arm64": "eor x1, x0, x0\n cbz x1, 1f\n", "arm32": "eors r1, r0, r0\n beq 1f\n"}[arch]
    text = KEEPS_NO_RETURN_ADDRESS[arch].replace("FORCED", never if forced else "")
    back = {"arm64": "        ldr x30, [sp]", "arm32": "        pop {r4"}[arch]
    (finding,) = check_of(tmp_path, text.replace(back, f"1:{back}"), arch).findings
    link = ARCHES[arch].link
    assert finding.evidence is (HowKnown.FORCED if forced else HowKnown.EXECUTED)
    assert [(thing.what, thing.says) for thing in finding.things] == [(link, f"{link} is still in {link}")]
    assert finding.repair is not None
    offset = {"arm64": "-0x10", "arm32": "-0x4"}[arch]
    assert finding.repair.directives == (f".cfi_offset {link}, {offset}",)


def test_a_return_address_that_only_some_paths_overwrite(tmp_path: Path) -> None:
    """Others come to the same place without the call; the register is saved on all."""
    text = KEEPS_NO_RETURN_ADDRESS["arm64"].replace("FORCED", "tbz x0, #0, 1f\n")
    (finding,) = check_of(tmp_path, text.replace("add x0, x0, #1", "1: add x0, x0, #1"), "arm64").findings
    assert finding.where == "f+0xc" and finding.evidence is HowKnown.EXECUTED


# Too long a length writes over what the function saved, and over its return address. What is called then never ends.
WRITES_OVER_ITS_FRAME = """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        subq $16, %rsp
        .cfi_def_cfa_offset 32
        xorl %ebx, %ebx
1:      movq %rdi, (%rsp,%rbx,8)
        incq %rbx
        cmpq $4, %rbx
        jb 1b
2:      addq $1, (%rsp)
        cmpq $0x7fffffff, (%rsp)
        jne 2b
        addq $16, %rsp
        .cfi_def_cfa_offset 16
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
"""


def test_a_path_that_wrote_over_its_own_frame_counts_until_then(tmp_path: Path) -> None:
    assert not check_of(tmp_path, WRITES_OVER_ITS_FRAME, "x86_64").findings
    wrong = WRITES_OVER_ITS_FRAME.replace(".cfi_offset %rbx, -16", ".cfi_offset %rbx, -24")
    assert check_of(tmp_path, wrong, "x86_64").findings
