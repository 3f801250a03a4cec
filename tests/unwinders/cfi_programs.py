"""Programs of call frame instructions in a table of one function."""

from __future__ import annotations

from testbed.contract.rows import (
    Rule,
    UnwindRow,
)
from tests.unwinders.frames import (
    rows,
)

DEF_CFA = b"\x0c\x07\x08"  # DW_CFA_def_cfa rsp, 8: a row needs a CFA


def one(instructions: bytes, initial: bytes = DEF_CFA, **kind: object) -> UnwindRow:
    """The last row of an FDE."""
    return rows(instructions, initial, **kind)[-1]  # type: ignore[arg-type]


def rule(instructions: bytes, register: str = "rbx", initial: bytes = DEF_CFA, **kind: object) -> Rule | None:
    return one(instructions, initial, **kind).registers.get(register)
