"""AAPCS (AAPCS32, 2024Q3, section 6), of A32 and Thumb alike, with its floating-point variant.

Without floating-point hardware there is no d8; code that has it keeps it under either variant. r9 is a platform's own:
on Linux it is saved. The record is that of ``-mframe-chain=aapcs``; what compilers chain by default is in
`testbed.arch.arm32`.
"""

from testbed.arch.arm32 import ARM32, CLANG_A32
from testbed.conventions.model import Convention, saved

AAPCS32 = Convention(
    name="aapcs",
    title="AAPCS",
    arch=ARM32,
    saved=saved(ARM32, *(f"r{i}" for i in range(4, 12)), *(f"d{i}" for i in range(8, 16))),
    arguments=tuple(f"r{i}" for i in range(4)),
    results=("r0", "r1"),
    pointers=("r12",),  # GCC: STATIC_CHAIN_REGNUM
    return_register="lr",
    stack_alignment=8,
    record=CLANG_A32,
)
