"""The rule algebra: what every unwind format says, as data. Nothing here evaluates anything.

A *row* covers the pcs ``[start, end)`` of an image and says how to get the caller's registers from this
frame's. The words are DWARF's (DWARF 5, section 6.4.1): CFA, rule, row, return-address register.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from testbed.words.errors import UnwindError


@dataclass(frozen=True, slots=True)
class Offset:
    """``*(CFA + offset)``: the caller's value is stored there."""

    offset: int


@dataclass(frozen=True, slots=True)
class ValOffset:
    """``CFA + offset``: the caller's value *is* that address."""

    offset: int


@dataclass(frozen=True, slots=True)
class AtRegister:
    """``*(register + offset)``, with this frame's register."""

    register: str
    offset: int


@dataclass(frozen=True, slots=True)
class RegisterPlus:
    """``register + offset``, with this frame's register."""

    register: str
    offset: int


@dataclass(frozen=True, slots=True)
class SameValue:
    """The callee has not changed it: the caller's value is this frame's."""


@dataclass(frozen=True, slots=True)
class Undefined:
    """The caller's value cannot be recovered. For the return address: there is no caller."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The caller's value is known beforehand."""

    value: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One decoded DWARF expression operation: the opcode and its operands, at ``offset`` in its expression."""

    opcode: int
    operands: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class ExpressionRule:
    """``*(expression)``. For a register rule the CFA is on the stack before the first operation."""

    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class ValExpression:
    """``expression``: the caller's value, or the CFA, is what it computes."""

    operations: tuple[Operation, ...]


RA_SIGNED = "ra_signed"  # pseudo register, a Constant: bit 0 set while the return address carries a signature

Rule = (
    Offset | ValOffset | AtRegister | RegisterPlus | SameValue | Undefined | Constant | ExpressionRule | ValExpression
)


@dataclass(frozen=True, slots=True)
class UnwindRow:
    """The rules in force for the link-time pcs ``[start, end)``.

    ``cfa`` is None where a technique never computes one (a frame-pointer chain on arm64). A register without
    a rule has the ABI's default: the architecture table knows it, not the row. ``return_address`` names the
    register whose recovered value is the caller's pc. ``outermost_if_zero`` names a register whose zero marks the
    outermost frame, whatever the rules say (the frame pointer of a chain). ``half_cfa`` is how readers take an
    instruction where the row begins that is not valid there.
    """

    start: int
    end: int
    cfa: Rule | None
    registers: Mapping[str, Rule]
    return_address: str
    signal_frame: bool = False
    found_by: str = ""
    outermost_if_zero: str | None = None
    half_cfa: str = field(default="", compare=False)

    @property
    def is_signed(self) -> bool:
        """True where the return address carries a signature. On a core that signs nothing it has none all the same."""
        signed = self.registers.get(RA_SIGNED)
        return isinstance(signed, Constant) and bool(signed.value & 1)

    def contains(self, pc: int) -> bool:
        return self.start <= pc < self.end


@dataclass(frozen=True, slots=True)
class BrokenPart:
    """The link-time pcs ``[start, end)``: a table has something for them, and ``why`` it gives no row."""

    start: int
    end: int
    why: UnwindError


@dataclass(frozen=True, eq=False)
class RowTable:
    """All rows of one image and one format, sorted by start; ``source`` names the section they came from.

    What cannot be read is kept beside them: ``broken`` are the parts whose pcs are known, sorted and disjoint.
    ``unplaced`` is the reason of entries that do not even say their pcs: whatever has no row may be theirs. ``entries``
    are what functions the rows belong to, where the format says it: start, end, and the entry's place in the section.
    """

    source: str
    rows: tuple[UnwindRow, ...] = field(repr=False)
    broken: tuple[BrokenPart, ...] = field(default=(), repr=False)
    unplaced: UnwindError | None = None
    entries: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[UnwindRow]:
        return iter(self.rows)

    @property
    def is_empty(self) -> bool:
        """Does it say nothing at all, as where a file has none?"""
        return not (self.rows or self.broken or self.unplaced)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        return tuple(row.start for row in self.rows)

    def at(self, pc: int) -> UnwindRow | None:
        """The row that covers the link-time ``pc``, or None."""
        i = bisect_right(self.starts, pc) - 1
        return self.rows[i] if i >= 0 and self.rows[i].contains(pc) else None

    def between(self, start: int, end: int) -> Sequence[UnwindRow]:
        """The rows that cover some link-time pc from ``start`` to before ``end``."""
        rows = self.rows[max(bisect_right(self.starts, start) - 1, 0) : bisect_left(self.starts, end)]
        return [row for row in rows if row.end > start]

    def stop_at(self, pc: int) -> UnwindError | None:
        """Why there is no row for the link-time ``pc``; None where there is one, or the table is silent."""
        if self.at(pc) is not None:
            return None
        i = bisect_right(self.broken, pc, key=lambda part: part.start) - 1
        why = self.broken[i].why if i >= 0 and pc < self.broken[i].end else self.unplaced
        return why.again() if why else None
