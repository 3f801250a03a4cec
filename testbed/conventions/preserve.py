"""Clang's ``preserve_most``, ``preserve_all`` and ``preserve_none`` (LLVM Language Reference, "Calling Conventions").

A register in which something may be returned is left out of what is saved: it is, where nothing is returned, and no
file says whether anything is. LLVM: CSR_64_RT_*Regs, CSR_64_NoneRegs in X86CallingConv.td; CSR_AArch64_RT_*Regs,
CSR_AArch64_NoneRegs in AArch64CallingConvention.td.
"""

from dataclasses import replace

from testbed.arch.arm64 import ARM64
from testbed.arch.x86_64 import X86_64
from testbed.conventions.aapcs64 import AAPCS64, GENERAL
from testbed.conventions.model import saved
from testbed.conventions.system_v import SYSTEM_V

_MOST_X86_64 = replace(
    SYSTEM_V,
    name="preserve_most",
    title="Clang's preserve_most",
    saved=SYSTEM_V.saved + saved(X86_64, "rcx", "rsi", "rdi", "r8", "r9", "r10"),
)
_MOST_ARM64 = replace(
    AAPCS64,
    name="preserve_most",
    title="Clang's preserve_most",
    saved=AAPCS64.saved + saved(ARM64, *(f"x{i}" for i in range(9, 16))),
)
PRESERVE = (
    _MOST_X86_64,
    _MOST_ARM64,
    replace(
        _MOST_X86_64,
        name="preserve_all",
        title="Clang's preserve_all",
        saved=_MOST_X86_64.saved + saved(X86_64, *(f"xmm{i}" for i in range(2, 16)), bits=128),
    ),
    replace(
        _MOST_ARM64,
        name="preserve_all",
        title="Clang's preserve_all",
        saved=saved(ARM64, *GENERAL, *(f"x{i}" for i in range(9, 16)))
        + saved(ARM64, *(f"q{i}" for i in range(8, 32)), bits=128),
    ),
    replace(
        SYSTEM_V,
        name="preserve_none",
        title="Clang's preserve_none",
        saved=saved(X86_64, "rbp"),
        arguments=("r12", "r13", "r14", "r15", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r11", "rax"),
    ),
    replace(
        AAPCS64,
        name="preserve_none",
        title="Clang's preserve_none",
        saved=saved(ARM64, "x29"),
        arguments=(*(f"x{i}" for i in range(20, 29)), *(f"x{i}" for i in range(8)), *(f"x{i}" for i in range(10, 15))),
    ),
)
