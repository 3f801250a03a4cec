"""What a source says about unwinding, as data: the CFI directives and the ARM EHABI ones.

Registers are DWARF numbers. CFI: the assembler's directives for DWARF 5, section 6.4.2. EHABI: Exception Handling
ABI for the Arm Architecture, section 9.3, as the assemblers' ``.fnstart`` family spells it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.arch import PerArch, PerIsa
from testbed.build.expressions import Expression

# How assembly sources spell registers and instruction sets.

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


@dataclass(frozen=True, slots=True)
class CfiDirective:
    """``.cfi_NAME``: registers, numbers, or the bytes of ``.cfi_escape``. ``startproc`` has a 1 where it is simple."""

    name: str
    operands: tuple[int, ...] = ()


def cfi(name: str, *operands: int) -> CfiDirective:
    """``.cfi_NAME`` with its operands."""
    return CfiDirective(name, operands)


@dataclass(frozen=True, slots=True)
class FnStart:
    """``.fnstart``: an entry of ``.ARM.exidx`` begins here."""


@dataclass(frozen=True, slots=True)
class FnEnd:
    """``.fnend``: the entry that the last ``.fnstart`` began ends here."""


@dataclass(frozen=True, slots=True)
class CantUnwind:
    """``.cantunwind``: nobody can unwind through this function (EXIDX_CANTUNWIND)."""


@dataclass(frozen=True, slots=True)
class Save:
    """Core registers pushed: bit n of ``mask`` is rn."""

    mask: int


@dataclass(frozen=True, slots=True)
class VSave:
    """VFP registers pushed: bit n of ``mask`` is dn."""

    mask: int


@dataclass(frozen=True, slots=True)
class SetFp:
    """``register = base + offset``; the frame is found from ``register`` from here on."""

    register: int
    base: int
    offset: int


@dataclass(frozen=True, slots=True)
class Pad:
    """The stack pointer went down by ``size`` bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class MovSp:
    """The stack pointer was copied: ``register = sp + offset``."""

    register: int
    offset: int


@dataclass(frozen=True, slots=True)
class Personality:
    """``.personality SYMBOL``: the routine that handles exceptions in this function."""

    symbol: Expression


@dataclass(frozen=True, slots=True)
class PersonalityIndex:
    """``.personalityindex N``: one of the routines 0 to 2 that the EHABI defines itself."""

    index: int


@dataclass(frozen=True, slots=True)
class HandlerData:
    """The words after ``.handlerdata``: they follow the opcodes in ``.ARM.extab``."""

    words: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class UnwindRaw:
    """Opcodes as they are; together they move the stack pointer up by ``offset``."""

    offset: int
    content: bytes


EhabiRule = Save | VSave | SetFp | Pad | MovSp | UnwindRaw
EhabiDirective = FnStart | FnEnd | CantUnwind | Personality | PersonalityIndex | HandlerData | EhabiRule
