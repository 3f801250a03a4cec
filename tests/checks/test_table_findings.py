"""Findings of tables: of what was compared and what is true, of code that nothing executed, of two tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.checks.code_words import CodeWords
from testbed.checks.file_result import formats_differ
from testbed.checks.groups import PieceCounts
from testbed.checks.model import FindingKind, HowKnown, WrongThing
from testbed.checks.native.codes import CFA
from testbed.checks.static_rows import StaticDifference, StaticFunction, static_function
from testbed.checks.table_findings import CodeSpan, span_at, table_findings
from testbed.checks.true_rows import ObservedRow, TruePlace
from testbed.contract.rows import Offset, RegisterPlus, RowTable, UnwindRow
from testbed.image import Image, Segment, Symbol
from testbed.micro.functions import CodePiece
from testbed.runs.run import run_program

WORDS = CodeWords(hex, lambda pc: "call rax", lambda pc: ("", 0))


@pytest.mark.parametrize(("behind", "its_own"), [(-1, True), (0, False), (1, False)])
def test_the_row_of_a_call_is_the_one_at_its_last_byte(behind: int, its_own: bool) -> None:
    """A call of two bytes, and a wrong row that begins at its last byte, right behind it, or one byte further on."""
    image = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone").built.image
    main = next(symbol for symbol in image.symbols if symbol.name == "main")
    pc, end = main.address, main.address + main.size
    row = UnwindRow(pc + 2 + behind, end, RegisterPlus("rsp", 24), {"rip": Offset(-8)}, "rip")
    true = {pc: ObservedRow(pc, 1, 1, {"rsp": 8}, stack=8)}
    found = table_findings(RowTable(".eh_frame", (row,)), image, {pc: CFA}, true, {pc: 2}, WORDS)
    assert bool(found) is its_own


# Functions as ranges: by the sizes of symbols, up to the next function, and where nothing has a name.


def image(*symbols: Symbol) -> Image:
    code = Segment(0x1000, bytes(0x100), 0x100, readable=True, writable=False, executable=True)
    return Image(Path("a"), ARCHES["x86_64"], 0x1000, (code,), {}, tuple(sorted(symbols, key=lambda s: s.address)))


def function(name: str, address: int, size: int) -> Symbol:
    return Symbol(name, address, size, is_function=True)


def test_a_function_with_a_size() -> None:
    assert span_at(image(function("f", 0x1010, 0x20)), 0x102F) == CodeSpan("f", 0x1010, 0x1030)


def test_a_function_without_a_size_reaches_to_the_next_one() -> None:
    code = image(function("f", 0x1010, 0), Symbol("loop", 0x1018, 0, is_function=False), function("g", 0x1040, 4))
    assert span_at(code, 0x1010) == span_at(code, 0x103F) == CodeSpan("f", 0x1010, 0x1040)
    assert span_at(image(function("f", 0x1010, 0)), 0x10FF) == CodeSpan("f", 0x1010, 0x1100)


def test_a_name_that_nobody_marked_as_a_function() -> None:
    code = image(
        Symbol("entry", 0x1020, 0, is_function=False),
        Symbol("here", 0x1028, 0, is_function=False, local=True),
        Symbol("table", 0x1030, 8, is_function=False, is_data=True),
    )
    assert span_at(code, 0x1034) == CodeSpan("entry", 0x1020, 0x1100)


def test_code_without_a_name_lies_between_functions() -> None:
    code = image(function("f", 0x1010, 0x10), function("g", 0x1040, 4))
    assert span_at(code, 0x1024) == CodeSpan("", 0x1020, 0x1040)
    assert span_at(code, 0x1044) == CodeSpan("", 0x1044, 0x1100)
    assert span_at(code, 0x5000) == CodeSpan("", 0x5000, 0x5001)


# Rows that nothing executed beside what the instructions say: only where these say anything.


IMAGE = Image(Path("code.so"), ARCHES["x86_64"], 0, (), {}, ())


def row(start: int, end: int, offset: int) -> UnwindRow:
    return UnwindRow(start, end, RegisterPlus("rsp", offset), {"rip": Offset(-8)}, "rip")


def said(_: Image, pc: int) -> UnwindRow:
    return row(pc, pc + 1, 8 if pc < 2 else 16)


def test_a_row_that_contradicts_the_instructions_differs() -> None:
    found = static_function(IMAGE, RowTable(".t", (row(0, 8, 8),)), said, (0, 1), {k: 1 for k in range(2, 6)})
    assert sorted(found.differing) == [2, 3, 4, 5]
    assert static_function(IMAGE, RowTable(".t", (row(0, 8, 16),)), said, (0, 1), {2: 1}).agreed == frozenset()


def test_where_nothing_leads_to_an_instruction_those_before_it_say_nothing_of_it() -> None:
    table = RowTable(".t", (row(0, 8, 8),))
    found = static_function(IMAGE, table, said, (0, 1), {k: 1 for k in (2, 3, 5, 6)}, orphans={2})
    assert sorted(found.differing) == [5, 6], "from the next one on that does not follow it"
    right = RowTable(".t", (row(0, 2, 8), row(2, 8, 16)))
    assert static_function(IMAGE, right, said, (0, 1), {2: 1}, orphans={2}).agreed == {2}


# Two tables of one file that contradict each other, where nothing was executed.


ROW = UnwindRow(0x1000, 0x1010, RegisterPlus("rsp", 16), {"rip": Offset(-8), "rbx": Offset(-16)}, "rip")
PCS = np.array([0x1000, 0x1004, 0x1008], np.uint64)
COUNTS = PieceCounts(CodePiece(0x1000, 0x1010, "f", True), PCS, np.full(3, 4), 1, 1)
WORDS_FORMATS_COMPARED = CodeWords(hex, lambda pc: "nop", lambda pc: ("", 0))
ONE_FORMATS_COMPARED = RowTable(".eh_frame", (ROW,))


def found(other: UnwindRow, executed: tuple[int, ...] = (), counts: PieceCounts = COUNTS, name: str = "debug_frame"):  # type: ignore[no-untyped-def]
    tables = {"eh_frame": ONE_FORMATS_COMPARED, name: RowTable(f".{name}", (other,))}
    code = image(function("f", 0x1000, 0x10))
    return list(formats_differ(tables, [counts], frozenset(executed), WORDS_FORMATS_COMPARED, code))


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
            replace(ROW, registers={"rip": Offset(-8), "rbx": Offset(-24)}),
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
    told = replace(
        COUNTS,
        static={"debug_frame": StaticFunction(frozenset(), dict.fromkeys(PCS.tolist(), StaticDifference((), other)))},
    )
    assert not found(other, counts=told)
    assert not found(replace(ROW, cfa=RegisterPlus("rbp", 24)))
    assert not found(other, name="ehabi"), "that one promises rows at calls only"


def test_a_value_that_is_in_many_places_shows_no_save() -> None:
    """Zero below SP is no slot: BoringSSL's ``_aesni_ctr32_ghash_6x``, called with rbx zero."""
    slots = frozenset(range(-48, 0, 8))
    assert TruePlace(in_place=False, offsets=slots).vague
    assert not TruePlace(in_place=False, offsets=frozenset({-16, -24})).vague
    assert not TruePlace(in_place=True, offsets=slots).vague
