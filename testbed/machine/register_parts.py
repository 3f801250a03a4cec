"""What is known of capstone's answer to "which registers does this instruction write?", by architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.arch import PerArch


@dataclass(frozen=True, slots=True)
class RegisterAliases:
    """How names of the disassembler become recorded registers.

    ``parts`` are the recorded registers that a register of another name is, or is a part of: () where no recorded one
    is. ``distrusted`` is how mnemonics begin whose written registers capstone does not tell in full. ``tells_newer``:
    it tells them of extensions that the emulator lacks; not of SVE and its like.
    """

    parts: Mapping[str, tuple[str, ...]]
    distrusted: tuple[str, ...]
    tells_newer: bool = False


# Implicit registers, and what one instruction does many times.
_X86 = """
rep loop enter xlat xadd cmpxchg cpuid xgetbv rd wr sys int iret cli sti ver lar lsl
"""

# Atomic instructions, system registers, what pointer authentication does to the link register, and a change of SME's
# mode to all vectors.
_ARM64 = """
cas swp ldadd ldclr ldeor ldset ldsmax ldsmin ldumax ldumin msr sys pac aut xpac blra bra reta svc smst
"""

# No base register after a list (`stmdb r0!` in Thumb, `vpush`), no list after a base register (`vldmia r0!`), ...
_ARM32 = """
stm vldm vstm vpush vpop fldm fstm ldrex ldaex ldrt ldrbt ldrht ldrsbt ldrsht strt strbt strht swp msr mrc
mrrc vmrs vmsr cps setend rfe srs svc
"""

WRITTEN = PerArch(
    {
        "x86_64": RegisterAliases(
            parts={
                **{
                    part: (f"r{letter}x",)
                    for letter in "abcd"
                    for part in (f"e{letter}x", f"{letter}x", f"{letter}h", f"{letter}l")
                },
                **{part: (f"r{name}",) for name in ("si", "di", "bp", "sp") for part in (f"e{name}", name, f"{name}l")},
                **{f"r{i}{part}": (f"r{i}",) for i in range(8, 16) for part in "dwb"},
                **{f"{kind}mm{i}": () for kind in "xyz" for i in range(32)},
                **{f"{kind}{i}": () for kind in ("mm", "fp", "k") for i in range(8)},
                **{f"st({i})": () for i in range(8)},
                **{name: () for name in ("fpsw", "eip", "ip")},
            },
            distrusted=tuple(_X86.split()),
            tells_newer=True,
        ),
        "arm64": RegisterAliases(
            parts={
                **{f"w{i}": (f"x{i}",) for i in range(31)},
                **{f"{kind}{i}": (f"d{i}",) if 8 <= i < 16 else () for kind in "bhsdqvz" for i in range(32)},
                **{name: () for name in ("wzr", "xzr", "ffr")},
                "wsp": ("sp",),
                "fp": ("x29",),
                "lr": ("x30",),
            },
            distrusted=tuple(_ARM64.split()),
        ),
        "arm32": RegisterAliases(
            parts={
                "sb": ("r9",),
                "sl": ("r10",),
                "fp": ("r11",),
                "ip": ("r12",),
                **{f"s{i}": (f"d{i // 2}",) if i >= 16 else () for i in range(32)},
                **{f"q{i}": (f"d{2 * i}", f"d{2 * i + 1}") if 4 <= i < 8 else () for i in range(16)},
                **{f"d{i}": () for i in (*range(8), *range(16, 32))},
                **{name: ("cpsr",) for name in ("apsr", "apsr_nzcv", "itstate")},
                **{name: () for name in ("fpscr", "fpscr_nzcv", "fpexc", "fpsid", "fpinst", "fpinst2", "spsr")},
            },
            distrusted=tuple(_ARM32.split()),
        ),
    }
)
