"""Findings of one table, of what was compared and what is true."""

from __future__ import annotations

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.checks.code_words import CodeWords
from testbed.checks.native.codes import CFA
from testbed.checks.pc_checks import PcChecks
from testbed.checks.table_findings import table_findings
from testbed.checks.true_rows import TrueRow
from testbed.contract.rows import AtCfa, RegisterPlus, RowTable, UnwindRow
from testbed.runs.run import run_program

WORDS = CodeWords(hex, lambda pc: "call rax", lambda pc: ("", 0))
ONE, NONE = np.ones(1, np.int64), np.zeros(1, np.int64)


@pytest.mark.parametrize(("behind", "its_own"), [(-1, True), (0, False), (1, False)])
def test_the_row_of_a_call_is_the_one_at_its_last_byte(behind: int, its_own: bool) -> None:
    """A call of two bytes, and a wrong row that begins at its last byte, right behind it, or one byte further on."""
    image = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone").built.image
    main = next(symbol for symbol in image.symbols if symbol.name == "main")
    pc, end = main.address, main.address + main.size
    row = UnwindRow(pc + 2 + behind, end, RegisterPlus("rsp", 24), {"rip": AtCfa(-8)}, "rip")
    mask = np.array([CFA], np.uint64)
    checks = PcChecks(np.array([pc], np.uint64), ONE, ONE, NONE, mask, mask, NONE, NONE)
    true = {pc: TrueRow(pc, 1, 1, {"rsp": 8}, stack=8)}
    found = table_findings(RowTable(".eh_frame", (row,)), image, checks, true, {pc: 2}, WORDS)
    assert bool(found) is its_own
