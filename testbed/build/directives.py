"""What a source says about unwinding, as data: the CFI directives and the ARM EHABI ones.

Registers are DWARF numbers. CFI: the assembler's directives for DWARF 5, section 6.4.2. EHABI: Exception Handling
ABI for the Arm Architecture, section 9.3, as the assemblers' ``.fnstart`` family spells it.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.build.expressions import Expression


@dataclass(frozen=True, slots=True)
class StartProc:
    simple: bool  # without the rules that the ABI says hold at a function's entry


@dataclass(frozen=True, slots=True)
class EndProc:
    pass


@dataclass(frozen=True, slots=True)
class DefCfa:
    register: int
    offset: int


@dataclass(frozen=True, slots=True)
class DefCfaOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class DefCfaRegister:
    register: int


@dataclass(frozen=True, slots=True)
class AdjustCfaOffset:
    by: int


@dataclass(frozen=True, slots=True)
class AtCfaOffset:
    """``.cfi_offset``: the caller's value is stored at CFA + offset."""

    register: int
    offset: int


@dataclass(frozen=True, slots=True)
class AtRegisterOffset:
    """``.cfi_rel_offset``: the caller's value is stored at offset from the register that the CFA is counted from."""

    register: int
    offset: int


@dataclass(frozen=True, slots=True)
class IsCfaOffset:
    """``.cfi_val_offset``: the caller's value is CFA + offset."""

    register: int
    offset: int


@dataclass(frozen=True, slots=True)
class InRegister:
    register: int
    other: int


@dataclass(frozen=True, slots=True)
class RestoreInitial:
    register: int


@dataclass(frozen=True, slots=True)
class MakeUndefined:
    register: int


@dataclass(frozen=True, slots=True)
class KeepSame:
    register: int


@dataclass(frozen=True, slots=True)
class RememberState:
    pass


@dataclass(frozen=True, slots=True)
class RestoreState:
    pass


@dataclass(frozen=True, slots=True)
class Escape:
    """Bytes that go into the table as they are."""

    content: bytes


@dataclass(frozen=True, slots=True)
class NegateRaState:
    pass


@dataclass(frozen=True, slots=True)
class BKeyFrame:
    """``.cfi_b_key_frame``: the return address is signed with key B."""


@dataclass(frozen=True, slots=True)
class MarkSignalFrame:
    pass


@dataclass(frozen=True, slots=True)
class ReturnColumn:
    register: int


CfiRule = (
    DefCfa
    | DefCfaOffset
    | DefCfaRegister
    | AdjustCfaOffset
    | AtCfaOffset
    | AtRegisterOffset
    | IsCfaOffset
    | InRegister
    | RestoreInitial
    | MakeUndefined
    | KeepSame
    | RememberState
    | RestoreState
    | Escape
    | NegateRaState
)
CfiDirective = StartProc | EndProc | MarkSignalFrame | BKeyFrame | ReturnColumn | CfiRule


@dataclass(frozen=True, slots=True)
class FnStart:
    pass


@dataclass(frozen=True, slots=True)
class FnEnd:
    pass


@dataclass(frozen=True, slots=True)
class CantUnwind:
    pass


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
    symbol: Expression


@dataclass(frozen=True, slots=True)
class PersonalityIndex:
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
