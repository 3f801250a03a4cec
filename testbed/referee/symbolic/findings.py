"""What symbolic was seen to leave out, or to write wrongly."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.limits import limit_on
from testbed.referee.model import Finding
from testbed.referee.symbolic.limits import EH_FRAME, INDIRECT, UNREAD
from testbed.words.traits import Trait

SYMBOLIC = "symbolic 13.9.0"


def _finding(title: str, unwinder: str, program: str, arch: str, recipe: str, at: str, limit: Limit) -> Finding:
    return Finding(title, unwinder, SYMBOLIC, "2026-11-21", program, arch, recipe, at, limit)


FINDINGS = (
    _finding(
        "symbolic keeps a register's rule where DWARF takes it back",
        "symbolic",
        "early_return",
        "x86_64",
        "keystone",
        "classify+0x20",
        limit_on(EH_FRAME, Trait.EPILOGUE),
    ),
    _finding(
        "symbolic drops rules that are expressions, and says that the registers are unchanged",
        "symbolic",
        "val_expression",
        "x86_64",
        "keystone",
        "work+0x2",
        limit_on(EH_FRAME, Trait.INEXPRESSIBLE),
    ),
    _finding(
        "symbolic drops DW_CFA_undefined, and says that the register is unchanged",
        "symbolic",
        "longjmp",
        "x86_64",
        "keystone",
        "long_jump+0x1d",
        limit_on(EH_FRAME, Trait.LOST_REGISTER),
    ),
    _finding(
        "symbolic refuses every table of a file with functions that sign their return address with the B key",
        "symbolic",
        "pac_ret",
        "arm64",
        "keystone",
        "leaf",
        UNREAD,
    ),
    _finding(
        "symbolic writes a frame size of zero for large x86_64 frames in compact unwind tables",
        "symbolic_compact",
        "big_frame",
        "x86_64",
        "macho-O2-nofp",
        "fill+0x3",
        INDIRECT,
    ),
)
