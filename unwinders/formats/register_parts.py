"""Rules about parts of registers, put together: a register is restored where its parts lie side by side.

GCC's `.debug_frame` for arm32 has no number for d8. It saves s16 at an address and s17 four bytes above, which is d8 in
little-endian memory. A register of which the parts cannot be put together, or of which one part is saved alone, is
unknown in the caller: its old value, half of which was overwritten, would be a lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from testbed.arch import Arch, RegisterPart
from testbed.contract.rows import AtCfa, AtRegister, Rule, SameValue, Undefined


class WholeRegisters:
    """Rules by register, those about parts replaced by rules about the whole. Rows that share rules still do."""

    def __init__(self, arch: Arch) -> None:
        self.parts = {part.name: part for part in arch.parts.values()}
        self.last: tuple[Mapping[str, Rule], Mapping[str, Rule]] = {}, {}

    def of(self, rules: Mapping[str, Rule]) -> Mapping[str, Rule]:
        """The same rules, said about whole registers."""
        if rules is not self.last[0]:
            named = self.parts.keys() & rules.keys()
            self.last = rules, self._joined(rules, named) if named else rules
        return self.last[1]

    def _joined(self, rules: Mapping[str, Rule], named: set[str]) -> Mapping[str, Rule]:
        joined = {name: rule for name, rule in rules.items() if name not in named}
        for whole in sorted({self.parts[name].whole for name in named}):
            parts = sorted((p for p in self.parts.values() if p.whole == whole), key=lambda part: part.first_bit)
            joined[whole] = Undefined() if whole in joined else _whole([(part, rules.get(part.name)) for part in parts])
        return joined


def _whole(parts: Sequence[tuple[RegisterPart, Rule | None]]) -> Rule:
    """The rule of a register, given those of its parts, the lowest bits first; None is one without a rule."""
    first = parts[0][1]
    if all(isinstance(rule, SameValue | None) for _, rule in parts):
        return SameValue()
    if isinstance(first, AtCfa | AtRegister) and all(
        rule == replace(first, offset=first.offset + part.first_bit // 8) for part, rule in parts
    ):
        return first
    return Undefined()
