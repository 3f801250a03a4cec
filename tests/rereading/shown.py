"""Rows of the second readers as text."""

from __future__ import annotations

from testbed.rereading import NoRow, SecondRow


def shown(row: SecondRow | NoRow) -> str:
    """A row in one line: its CFA, its return address, its other rules by name."""
    if isinstance(row, NoRow):
        return f"no row: {row}"
    rules = "".join(f", {name} {rule}" for name, rule in sorted(row.registers.items()))
    marks = "".join(mark for mark, is_so in ((", signal", row.signal_frame), (", signed", row.signed)) if is_so)
    return f"CFA {row.cfa}, returns to {row.return_address}{rules}{marks}"
