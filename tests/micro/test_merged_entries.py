"""One entry of the exception index that stands for several functions of a stripped file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.image import Image
from testbed.micro.functions import indexed_ranges, pieces_of, with_merged
from tests.micro.callers import library

HEAD = """
        .syntax unified
        .thumb
        .macro  function name
        .section .text.\\name, "ax", %progbits
        .p2align 2
        .type   \\name, %function
        .thumb_func
\\name:  .fnstart
        .endm
        .macro  late
        cbz     r0, 1f
        b       2f
1:      bx      lr
2:      push    {r4, lr}
        bl      elsewhere
        pop     {r4, pc}
        .endm
        .macro  ends name
        .save   {r4, lr}
        .fnend
        .size   \\name, .-\\name
        .endm
"""
# All have the same frame. Of those behind the first: one is called, the address of one is in data, one computes that of
# the next, and nothing tells of it and of the last but what they begin with. Of the three nothing is told by that.
MERGED = (
    HEAD
    + """
        .globl  switches
        function switches
        push    {r4, lr}
        mov     r4, r0
        cmp     r0, #3
        bhi     4f
        tbb     [pc, r0]
1:      .byte   (2f-1b)/2, (3f-1b)/2, (4f-1b)/2, (5f-1b)/2
2:      bl      called
        b       6f
3:      push    {r0, lr}
        movs    r0, #3
        add     sp, #8
        b       6f
4:      movs    r0, #4
6:      pop     {r4, pc}
5:      bl      elsewhere
        b       4b
        ends    switches
        function called
        late
        ends    called
        function held
        late
        ends    held
        function computes
        push    {r4, lr}
        ldr     r0, 1f
2:      add     r0, pc
        bl      elsewhere
        pop     {r4, pc}
        .p2align 2
1:      .word   computed - (2b + 4)
        ends    computes
        function computed
        late
        ends    computed
        function plain
        movs    r1, #1
        push    {r4, lr}
        bl      elsewhere
        pop     {r4, pc}
        ends    plain
        .data
        .word   held
"""
)
NAMES = ("switches", "called", "held", "computes", "computed", "plain")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The six functions, of which the index has one entry and the linker's end."""
    return library(MERGED, "arm32", tmp_path_factory.mktemp("merged"), ".S", "-Bsymbolic")


def _starts(image: Image) -> dict[str, int]:
    symbols = {name: image.symbol_named(name) for name in NAMES}
    return {name: symbol.address for name, symbol in symbols.items() if symbol is not None}


def test_each_function_of_one_entry_is_found_by_what_leads_there_or_what_it_begins_with(image: Image) -> None:
    starts = _starts(image)
    assert len(tuple(indexed_ranges(image))) == 1 < len(starts) == len(NAMES)
    bare = replace(image, symbols=())
    assert len(pieces_of(bare)) == 1
    pieces = with_merged(bare, pieces_of(bare))
    assert [piece.start for piece in pieces] == sorted(starts.values()), "no case of a switch, no block behind a jump"
    assert [piece.end for piece in pieces[:-1]] == [piece.start for piece in pieces[1:]]


def test_code_behind_a_function_of_known_size_is_no_part_of_it_and_is_not_left_out(image: Image) -> None:
    starts = _starts(image)
    bare = replace(image, symbols=tuple(symbol for symbol in image.symbols if symbol.name in ("switches", "held")))
    assert [piece.name for piece in pieces_of(bare)] == ["switches", "held"]
    pieces = with_merged(bare, pieces_of(bare))
    assert [piece.start for piece in pieces] == sorted(starts.values())
    assert [piece.name for piece in pieces] == ["switches", "", "held", "", "", ""]


def test_no_path_runs_from_one_function_into_the_next(tmp_path: Path) -> None:
    """There the frame would be twice as large as the row says, and the row would be told as wrong."""
    library(MERGED, "arm32", tmp_path, ".S", "-Bsymbolic", "-s")
    check = check_file(tmp_path / "code.so", CheckOptions(), READERS)
    assert not check.findings
    assert len(check.functions) == len(NAMES)
    assert check.total("never") == 0
