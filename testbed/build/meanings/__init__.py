"""What an instruction says, whatever its spelling: ``ret`` is ``ret x30``, ``pop {pc}`` is ``ldr pc, [sp], #4``.

A meaning is a mnemonic and operands in one form: aliases are replaced by what the architecture's manual says they stand
for. One file per instruction set has its aliases; `operands` reads operands. Both a source line and a disassembled
instruction become meanings, and only those are compared.
"""

from __future__ import annotations

from collections.abc import Callable

from testbed.arch import Arch, Isa, PerIsa
from testbed.build.meanings import arm32, arm64, x86_64
from testbed.build.meanings.operands import InstructionMeaning, LabelAddresses, Operand, read_operands

__all__ = ["InstructionMeaning", "Operand", "meaning_of", "same_meaning"]

_ALIASES = PerIsa[Callable[[InstructionMeaning], InstructionMeaning]](
    {"x86_64": x86_64.plain, "arm64": arm64.plain, "a32": arm32.plain, "thumb": arm32.plain}
)
_WIDTH = PerIsa[Callable[[InstructionMeaning], int]](
    {"x86_64": x86_64.width, "arm64": arm64.width, "a32": lambda _: 32, "thumb": lambda _: 32}
)


def meaning_of(mnemonic: str, operands: str, arch: Arch, isa: Isa, labels: LabelAddresses) -> InstructionMeaning:
    """The meaning of an instruction as text. Raises ValueError where the text is not understood."""
    return _ALIASES[isa.name](InstructionMeaning(mnemonic.lower(), read_operands(operands, arch, labels)))


def same_meaning(wanted: InstructionMeaning, got: InstructionMeaning, isa: Isa) -> bool:
    """True where two instructions do the same. What a source leaves open, the size of a place, is as it was decoded."""
    if wanted.mnemonic != got.mnemonic or len(wanted.operands) != len(got.operands):
        return False
    bits = _WIDTH[isa.name](got)
    return all(_same(w, g, bits) for w, g in zip(wanted.operands, got.operands, strict=True))


def _same(wanted: Operand, got: Operand, bits: int) -> bool:
    """Numbers of values count in the operation's width (-1 is 0xffff in 16 bits), distances in an address's."""
    if (wanted.kind, wanted.terms, wanted.writes_back) != (got.kind, got.terms, got.writes_back):
        return False
    if wanted.size and got.size and wanted.size != got.size:
        return False
    if (wanted.number is None) != (got.number is None) or len(wanted.parts) != len(got.parts):
        return False
    if wanted.number is not None and got.number is not None and (wanted.number - got.number) % (1 << bits):
        return False
    return all(_same(w, g, 64) for w, g in zip(wanted.parts, got.parts, strict=True))
