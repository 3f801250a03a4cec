"""Each instruction set in keystone 0.9.2: how it is asked for, and what keystone has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.arch import Isa, PerIsa
from testbed.words.errors import BuildError


@dataclass(frozen=True, slots=True)
class KeystoneIsa:
    """``arch`` and ``mode`` are names of keystone's constants: the library is loaded in a process of its own.

    ``encodings`` are the bytes of instructions for which keystone is too old. ``padding`` is what clang fills alignment
    with, longest first; (): what keystone fills it with.
    """

    arch: str
    mode: str
    encodings: Mapping[str, bytes] = field(default_factory=dict)
    padding: tuple[bytes, ...] = ()


# Pointer authentication and branch targets, as hints that older cores pass over; then the returns that no hint is.
_HINTS = """
xpaclri 7, paciaz 24, paciasp 25, pacibz 26, pacibsp 27, autiaz 28, autiasp 29, autibz 30, autibsp 31,
bti 32, bti c 34, bti j 36, bti jc 38
"""
_ARM64_ENCODINGS = {
    name: (0xD503_201F | int(number) << 5).to_bytes(4, "little")
    for name, number in (hint.strip().rsplit(" ", 1) for hint in _HINTS.split(","))
} | {
    "retaa": bytes.fromhex("ff0b5fd6"),
    "retab": bytes.fromhex("ff0f5fd6"),
}

# The multi-byte no-operations that x86 processor manuals recommend, longest first.
_NOPS = """
662e0f1f840000000000 660f1f840000000000 0f1f840000000000 0f1f8000000000 660f1f440000 0f1f440000 0f1f4000 0f1f00 6690 90
"""

KEYSTONE = PerIsa[KeystoneIsa | None](
    {
        "x86_64": KeystoneIsa(
            "KS_ARCH_X86",
            "KS_MODE_64",
            encodings={"endbr64": bytes.fromhex("f30f1efa")},
            padding=tuple(map(bytes.fromhex, _NOPS.split())),
        ),
        "arm64": KeystoneIsa("KS_ARCH_ARM64", "KS_MODE_LITTLE_ENDIAN", encodings=_ARM64_ENCODINGS),
        "a32": KeystoneIsa("KS_ARCH_ARM", "KS_MODE_ARM"),
        "thumb": KeystoneIsa("KS_ARCH_ARM", "KS_MODE_THUMB"),
    }
)


def keystone_isa(isa: Isa) -> KeystoneIsa:
    """How keystone is asked for an instruction set. Raises BuildError where it has not that one."""
    known = KEYSTONE[isa.name]
    if known is None:
        raise BuildError(f"keystone does not assemble {isa.name}: {KEYSTONE.because[isa.name]}; take clang-asm")
    return known
