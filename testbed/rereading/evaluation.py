"""One row evaluated on one frame: its CFA, its return address, the caller's registers. What is unknown is None.

The return address is the value as it lies there: with its signature, with the Thumb bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.rereading.expression import Unknown, WordReader, compute
from testbed.rereading.rows import CFA, ByExpression, Lost, Plus, SecondRow, SecondRule, Word


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A caller as a row makes it out. ``registers`` has every register of the architecture but the flags."""

    cfa: int | None
    return_address: int | None
    registers: Mapping[str, int | None]


def evaluate(row: SecondRow, registers: Mapping[str, int | None], read_word: WordReader, bias: int = 0) -> Evaluated:
    """The caller that a row gives of a frame with these registers; ``read_word`` knows the memory.

    ``bias`` is how far from its link-time addresses the image is loaded. Of a register of which parts have rules
    nothing is known unless they lie in memory side by side. The link
    register is unknown in a caller, because the call has overwritten it; not so in one that a signal interrupted.
    """
    arch = row.arch
    cfa = _FrameValues(arch, registers, read_word, bias).value(row.cfa)
    cfa = None if cfa is None else cfa & arch.word_mask
    frame = _FrameValues(arch, {**registers, CFA: cfa}, read_word, bias)
    return_address = frame.value(row.return_address)
    kept = platform(arch).preserved if row.others_kept else ()
    found: dict[str, int | None] = {}
    for name, register in arch.by_name.items():
        if name in row.registers:
            value = frame.value(row.registers[name])
            found[name] = None if value is None else value & (1 << register.bits) - 1
        else:
            found[name] = registers.get(name) if name in kept else None
    for whole in {part.whole for part in arch.parts.values() if part.name in row.registers}:
        found[whole] = frame.joined(row, whole)
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
    bias: int

    def joined(self, row: SecondRow, whole: str) -> int | None:
        """A register out of its parts."""
        parts = sorted((each for each in self.arch.parts.values() if each.whole == whole), key=lambda p: p.first_bit)
        rules = [row.registers.get(part.name) for part in parts]
        if whole in row.registers:
            return None
        if all(rule in (None, Plus(part.name)) for part, rule in zip(parts, rules, strict=True)):
            return self.registers.get(whole)
        match rules[0]:
            case Word(Plus(str(base), offset), size):
                there = [Word(Plus(base, offset + part.first_bit // 8), size) for part in parts]
                values = [self.value(rule) for rule in there] if rules == there else [None]
                return (
                    None if None in values else sum(v << p.first_bit for v, p in zip(values, parts, strict=True) if v)
                )
        return None

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
                    return compute(expression, stack, self)
                except Unknown:
                    return None
            case Lost() | None:
                return None

    def _mask(self, base: str | SecondRule) -> int:
        register = self.arch.by_name.get(base) if isinstance(base, str) else None
        return self.arch.word_mask if register is None else (1 << register.bits) - 1
