"""Two tables of one file that contradict each other, where nothing was executed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from testbed.arch.x86_64 import X86_64
from testbed.checks.code_words import CodeWords
from testbed.checks.file_result import formats_differ
from testbed.checks.groups import PieceCounts
from testbed.checks.model import FindingKind, HowKnown, WrongThing
from testbed.checks.static_rows import StaticFunction
from testbed.contract.rows import AtCfa, RegisterPlus, RowTable, UnwindRow
from testbed.micro.functions import CodePiece

ROW = UnwindRow(0x1000, 0x1010, RegisterPlus("rsp", 16), {"rip": AtCfa(-8), "rbx": AtCfa(-16)}, "rip")
PCS = np.array([0x1000, 0x1004, 0x1008], np.uint64)
COUNTS = PieceCounts(CodePiece(0x1000, 0x1010, "f", True), PCS, np.full(3, 4), 1, 1)
WORDS = CodeWords(hex, lambda pc: "nop", lambda pc: ("", 0))
ONE = RowTable(".eh_frame", (ROW,))


def found(other: UnwindRow, executed: tuple[int, ...] = (), counts: PieceCounts = COUNTS, name: str = "debug_frame"):  # type: ignore[no-untyped-def]
    tables = {"eh_frame": ONE, name: RowTable(f".{name}", (other,))}
    return list(formats_differ(tables, [counts], frozenset(executed), WORDS, X86_64))


def test_tables_that_say_the_same_contradict_nothing() -> None:
    assert not found(ROW)


@pytest.mark.parametrize(
    ("other", "thing"),
    [
        (
            replace(ROW, cfa=RegisterPlus("rsp", 24)),
            WrongThing("CFA", "CFA = rsp+0x10", "and .debug_frame says CFA = rsp+0x18"),
        ),
        (
            replace(ROW, registers={"rip": AtCfa(-8), "rbx": AtCfa(-24)}),
            WrongThing("rbx", "rbx is at CFA-0x10", "and .debug_frame says it is at CFA-0x18"),
        ),
    ],
)
def test_a_contradiction_is_one_finding_a_function(other: UnwindRow, thing: WrongThing) -> None:
    (finding,) = found(other)
    assert (finding.kind, finding.evidence, finding.instructions) == (FindingKind.FORMATS_DIFFER, HowKnown.STATIC, 3)
    assert (finding.table, finding.pc, finding.things) == (".eh_frame", 0x1000, (thing,))


def test_left_out_is_what_was_executed_what_is_told_already_and_what_cannot_be_compared() -> None:
    other = replace(ROW, cfa=RegisterPlus("rsp", 24))
    assert [each.pc for each in found(other, executed=(0x1000,))] == [0x1004]
    assert not found(other, executed=tuple(PCS.tolist()))
    told = replace(COUNTS, static={"debug_frame": StaticFunction(frozenset(), dict.fromkeys(PCS.tolist(), ()))})
    assert not found(other, counts=told)
    assert not found(replace(ROW, cfa=RegisterPlus("rbp", 24)))
    assert not found(other, name="ehabi"), "that one promises rows at calls only"
