"""System V x86_64 (psABI 1.0, section 3.2), and Intel's vector mathematics on top of it.

SVML: ``__svml_*`` functions keep what C functions keep, and of the vector registers xmm8 to xmm15 (with AVX ymm8 to
ymm15, with AVX-512 zmm16 to zmm31 and k4 to k7: LLVM's CSR_64_Intel_OCL_BI). The vector functions of glibc's libmvec
(``_ZGV*``) follow the psABI.
"""

from dataclasses import replace

from testbed.arch.x86_64 import X86_64
from testbed.conventions.model import Convention, saved

SYSTEM_V = Convention(
    name="sysv",
    title="System V x86_64",
    arch=X86_64,
    saved=saved(X86_64, "rbx", "rbp", "r12", "r13", "r14", "r15"),
    arguments=("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    results=("rax", "rdx"),
    pointers=("r10",),  # GCC: STATIC_CHAIN_REGNUM
    return_register=None,
    stack_alignment=16,
    red_zone=128,
    record=X86_64.isas[0].records[0],
)
SVML = replace(
    SYSTEM_V,
    name="svml",
    title="Intel SVML",
    saved=SYSTEM_V.saved + saved(X86_64, *(f"xmm{i}" for i in range(8, 16)), bits=128),
)
