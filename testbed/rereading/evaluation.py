"""One row evaluated on one frame: its CFA, its return address, the caller's registers. What is unknown is None.

The return address is the value as it lies there: with its signature, with the Thumb bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.rereading.expression import Unknown, WordReader, compute
from testbed.rereading.rows import CFA, ByExpression, Lost, Plus, SecondRow, SecondRule, Word


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A caller as a row makes it out. ``registers`` has every register of the architecture but the flags."""

    cfa: int | None
    return_address: int | None
    registers: Mapping[str, int | None]


def evaluate(row: SecondRow, registers: Mapping[str, int | None], read_word: WordReader) -> Evaluated:
    """The caller that a row gives of a frame with these registers; ``read_word`` knows the memory.

    The link register is unknown in a caller, because the call has overwritten it; not so in one that a signal
    interrupted.
    """
    arch = row.arch
    frame = _FrameValues(arch, registers, read_word)
    cfa = frame.value(row.cfa)
    frame = _FrameValues(arch, {**registers, CFA: cfa}, read_word)
    return_address = frame.value(row.return_address)
    kept = arch.preserved if row.others_kept else ()
    found: dict[str, int | None] = {}
    for name, register in arch.by_name.items():
        if name in row.registers:
            value = frame.value(row.registers[name])
            found[name] = None if value is None else value & (1 << register.bits) - 1
        else:
            found[name] = registers.get(name) if name in kept else None
    for part in arch.parts.values():
        if part.name in row.registers:
            mask = (1 << part.bits) - 1
            value, whole = frame.value(row.registers[part.name]), found[part.whole]
            if value is None or whole is None:
                found[part.whole] = None
            else:
                found[part.whole] = whole & ~(mask << part.first_bit) | (value & mask) << part.first_bit
    if arch.sp not in row.registers:
        found[arch.sp] = cfa
    if arch.link is not None and not row.signal_frame:
        found[arch.link] = None
    found[arch.pc] = return_address
    found.pop(arch.flags)
    return Evaluated(cfa, return_address, found)


@dataclass(frozen=True, slots=True)
class _FrameValues:
    arch: Arch
    registers: Mapping[str, int | None]
    read_word: WordReader

    def value(self, rule: SecondRule | None) -> int | None:
        match rule:
            case Plus(base, offset):
                value = self.registers.get(base) if isinstance(base, str) else self.value(base)
                return None if value is None else value + offset & self._mask(base)
            case Word(at, size):
                address = self.value(at)
                return None if address is None else self.read_word(address, size)
            case ByExpression(expression, on_cfa):
                stack = [self.registers.get(CFA)] if on_cfa else []
                try:
                    return compute(expression, stack, self.arch, self.registers, self.read_word)
                except Unknown:
                    return None
            case Lost() | None:
                return None

    def _mask(self, base: str | SecondRule) -> int:
        register = self.arch.by_name.get(base) if isinstance(base, str) else None
        return self.arch.word_mask if register is None else (1 << register.bits) - 1
