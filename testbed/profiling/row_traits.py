"""What is special about the rows of one function, as traits: facts about a table that limit who cannot say them.

A header declares them of a program of the corpus. Of a library's code nobody does: they are read from its table.
"""

from __future__ import annotations

from testbed.contract.rows import AtExpression, IsExpression, RowTable, Rule, SameValue, Undefined
from testbed.words.traits import Trait


def traits_of_row(table: RowTable, pc: int) -> frozenset[Trait]:
    """``INEXPRESSIBLE``, ``TAKEN_BACK`` and ``ENTRY_LOST``, as far as they hold of the row of a link-time pc."""
    row = table.at(pc)
    if row is None:
        return frozenset()
    found = set()
    if any(isinstance(rule, AtExpression | IsExpression) for rule in (row.cfa, *row.registers.values())):
        found.add(Trait.INEXPRESSIBLE)
    entry = next(((start, end, place) for start, end, place in table.entries if start <= pc < end), None)
    if entry is not None:
        start, end, place = entry
        # The rows of a table stand in the order of their code, as its writers go through it.
        before = [other for other in table.rows if start <= other.start < row.start]
        names = {name for other in before for name in other.registers} | row.registers.keys()
        if any(_taken_back(row.registers.get(name), [other.registers.get(name) for other in before]) for name in names):
            found.add(Trait.TAKEN_BACK)
        if any(other == end and earlier < place for other, _, earlier in table.entries):
            found.add(Trait.ENTRY_LOST)
    return frozenset(found)


def _taken_back(now: Rule | None, before: list[Rule | None]) -> bool:
    """True where an earlier row says where the register is, and this one does not; or this one says: nowhere."""
    if isinstance(now, Undefined):
        return any(not isinstance(rule, Undefined) for rule in before)
    return (now is None or isinstance(now, SameValue)) and any(
        rule is not None and not isinstance(rule, SameValue) for rule in before
    )
