"""AArch64: AAPCS64 (2024Q3, sections 6.1 to 6.4), and the vector calls of VFABIA64 (section 3).

A function of a variant convention has a symbol that says so (STO_AARCH64_VARIANT_PCS), not which one it is. Vector
calls keep the least of those that there are: SVE calls keep the whole of z8 to z23, and p4 to p15.
"""

from dataclasses import replace

from testbed.arch.arm64 import ARM64
from testbed.conventions.model import Convention, saved

GENERAL = tuple(f"x{i}" for i in range(19, 30))
AAPCS64 = Convention(
    name="aapcs64",
    title="AAPCS64",
    arch=ARM64,
    saved=saved(ARM64, *GENERAL, *(f"d{i}" for i in range(8, 16))),
    arguments=tuple(f"x{i}" for i in range(8)),
    results=("x0", "x1"),
    pointers=("x8", "x18", "x17"),  # a large result (6.9); GCC: STATIC_CHAIN_REGNUM; veneers and hooks (6.1.1)
    return_register="x30",
    stack_alignment=16,
    record=ARM64.isas[0].records[0],
)
VECTOR = replace(
    AAPCS64,
    name="aarch64_vector_pcs",
    title="AArch64 vector calls",
    saved=saved(ARM64, *GENERAL) + saved(ARM64, *(f"q{i}" for i in range(8, 24)), bits=128),
)
