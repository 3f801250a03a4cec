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
