"""Pointers that a function is given beside its arguments: the frame around a nested one, where a result belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.sources import check_of

pytest.importorskip("ziglang", reason="needs pip install ziglang")

_X86 = """
        movq    (%{0}), %rax
        movq    %rax, (%{0})
        xorl    %eax, %eax
        ret
"""
_A64 = """
        ldr     x0, [{0}]
        str     x0, [{0}]
        mov     x0, #0
        ret
"""
_A32 = """
        ldr     r0, [{0}]
        str     r0, [{0}]
        mov     r0, #0
        bx      lr
"""


@pytest.mark.parametrize(
    ("arch", "code", "register"),
    [("x86_64", _X86, "r10"), ("arm64", _A64, "x18"), ("arm64", _A64, "x8"), ("arm32", _A32, "r12")],
)
def test_what_they_point_to_is_read_and_written(tmp_path: Path, arch: str, code: str, register: str) -> None:
    kind = "%function" if arch == "arm32" else "@function"
    beginning = ".syntax unified\n.arm\n" if arch == "arm32" else ""
    text = f".globl f\n.type f, {kind}\nf: .cfi_startproc\n{code.format(register)}.cfi_endproc\n.size f, .-f\n"
    check = check_of(tmp_path, beginning + text, arch)
    assert check.total("executed") == check.total("instructions") == 4
    assert check.functions[0].returned == check.functions[0].calls
