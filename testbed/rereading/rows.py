"""A row as the second reader finds it: rules as small expressions, which can be shown and evaluated.

The words are DWARF's (DWARF 5, section 6.4.1), whatever the format. These rules are other data than
`testbed.contract.rows`: a mistake in those must not be able to repeat itself here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.arch import Arch

CFA = "CFA"  # as the base of a rule, beside the names of registers


@dataclass(frozen=True, slots=True)
class Plus:
    """``base + offset``: the base is a register of this frame, the CFA, or what another rule gives."""

    base: str | SecondRule
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.base}{self.offset:+#x}" if self.offset else f"{self.base}"


@dataclass(frozen=True, slots=True)
class Word:
    """The ``size`` bytes in memory at the address that another rule gives."""

    at: SecondRule
    size: int

    def __str__(self) -> str:
        return f"[{self.at}]"


@dataclass(frozen=True, slots=True)
class ByExpression:
    """What a DWARF expression leaves on its stack; ``on_cfa`` where it finds the CFA there."""

    expression: bytes
    on_cfa: bool

    def __str__(self) -> str:
        return f"expression {self.expression.hex()}"


@dataclass(frozen=True, slots=True)
class Lost:
    """The caller's value cannot be had. Of the return address: there is no caller."""

    def __str__(self) -> str:
        return "lost"


SecondRule = Plus | Word | ByExpression | Lost


@dataclass(frozen=True, slots=True)
class SecondRow:
    """What a table says at one pc of an image; addresses are link-time addresses.

    ``start`` and ``end`` are those of the entry (a function, or the part of one) that the row came from, ``place`` is
    where that lies in its section. ``cfa`` is None where there is no caller and the format says no more. A register
    without a rule keeps its value if calls preserve it and ``others_kept``; else it is unknown. SP without a rule is
    the CFA. ``signed``: the return address carries a signature.
    """

    arch: Arch
    start: int
    end: int
    place: int
    cfa: SecondRule | None
    return_address: SecondRule
    registers: Mapping[str, SecondRule]
    others_kept: bool = True
    signal_frame: bool = False
    signed: bool = False

    @property
    def undefined_return(self) -> bool:
        """True where the row says that this is the outermost frame."""
        return isinstance(self.return_address, Lost)


@dataclass(frozen=True, slots=True)
class NoRow:
    """There is no row for a pc, or this reader cannot read it; ``reason`` is a sentence without its full stop.

    ``is_said``: an entry is there, and refuses.
    """

    reason: str
    is_said: bool = False

    def __str__(self) -> str:
        return self.reason
