"""How assembly sources spell registers and instruction sets."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.arch import PerArch, PerIsa

# Other names of registers: theirs to `Register.name`.
SPELLINGS = PerArch[Mapping[str, str]](
    {
        "x86_64": {},
        "arm64": {"fp": "x29", "lr": "x30"},
        "arm32": {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12", "r13": "sp", "r14": "lr", "r15": "pc"},
    }
)

# The directive that selects an instruction set.
_ONLY_ONE = "the architecture has no other instruction set"
MODE_DIRECTIVES = PerIsa[str | None](
    {"x86_64": None, "arm64": None, "a32": ".arm", "thumb": ".thumb"},
    because={"x86_64": _ONLY_ONE, "arm64": _ONLY_ONE},
)

# How many bytes a datum of .word has.
WORD_DATA = PerArch({"x86_64": 2, "arm64": 4, "arm32": 4})

# What .align counts, to the assemblers of ELF files: bytes, or powers of two.
ALIGN_COUNTS_BYTES = PerArch({"x86_64": True, "arm64": False, "arm32": False})

# An instruction lies at a multiple of so many bytes.
INSTRUCTION_BOUNDARY = PerIsa({"x86_64": 1, "arm64": 4, "a32": 4, "thumb": 2})
