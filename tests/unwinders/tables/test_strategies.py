"""Strategies that have a row for a pc: a frame is looked up in its image, inside its call, and nothing else is asked.

Each case is a table for one function of 0x20 bytes, and a stack on which it was called by itself: its last instruction
is the call, so the return address is behind its end, where nothing is known. What a row gives is the formats' matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from gc import collect
from typing import NamedTuple
from weakref import ref

import pytest

from testbed.contract.frames import Backtrace
from testbed.image import Image, LoadedImage
from testbed.words.errors import NoUnwindInfo
from tests.unwinders import code, compact, ehabi_index, go_tables, search_tables, sframes
from tests.unwinders.formats import orc_made
from tests.unwinders.frames import START, X86_64, cie, fde, image, snapshot, words
from unwinders import UNWINDERS

STACK, SIZE = 0x8000, 0x20


class Table(NamedTuple):
    """A table, the section that rows are found in, and where in two frames of the stack the return address lies."""

    image: Image
    section: str
    frame: int = 1  # words
    start: int = START


CALL_FRAME = cie(b"\x0c\x07\x08\x90\x01") + fde(size=SIZE)  # CFA = rsp + 8, the return address below it
CALL = orc_made.entry(orc_made.bits(orc_made.CALL[orc_made.NEW]))
ENTRIES = ((START, CALL), (START + SIZE, orc_made.NOTHING))
INDEX = ehabi_index.index_of((START, ehabi_index.POP_R4_LR), (START + SIZE, ehabi_index.CANTUNWIND))
PAGE = compact.regular([(START, 0x0201_0000), (START + SIZE, 0)])
TABLES: Mapping[str, Table] = {
    "eh_frame": Table(search_tables.indexed(), ".eh_frame"),
    "eh_frame_hdr": Table(search_tables.indexed(), ".eh_frame"),
    "debug_frame": Table(image(_debug_frame=(0, CALL_FRAME)), ".debug_frame"),
    "sframe": Table(sframes.made(sframes.section((START, SIZE, [sframes.fre(0, 8)]))), ".sframe"),
    "orc": Table(orc_made.made(*ENTRIES, header=orc_made.HASH), ".orc_unwind"),
    "ehabi": Table(ehabi_index.made(INDEX), ".ARM.exidx", 2),
    "compact_unwind": Table(
        *(compact.image_with(X86_64, compact.section([(START, PAGE)], START + 0x100)), compact.SECTION),
        start=compact.CODE,
    ),
    "gopclntab": Table(go_tables.made(go_tables.Go("f", ((SIZE, 0),))), ".gopclntab"),
    "prologue_analysis": Table(code.image_of("x86_64", b"\x90" * (SIZE - 1) + b"\xc3"), "prologue of f"),
}
STRATEGIES = pytest.mark.parametrize("name", TABLES)


def walked(name: str, pc: int, bias: int = 0) -> Backtrace:
    """The walk from a pc of the function."""
    table, arch = TABLES[name], TABLES[name].image.arch
    before = [0x7] * (table.frame - 1)
    stack = words(arch, *before, table.start + SIZE + bias, *before, 0)
    registers = {register.name: 0x7000 for register in arch.registers} | {arch.pc: pc + bias, arch.sp: STACK}
    at = snapshot(arch, registers, [(STACK, stack)], [LoadedImage(table.image, bias)])
    return UNWINDERS[name].unwind(at)


@STRATEGIES
@pytest.mark.parametrize("bias", [0, 0x5_0000])
def test_a_caller_is_looked_up_inside_its_call_in_link_time_addresses(name: str, bias: int) -> None:
    table = TABLES[name]
    said = walked(name, table.start + 8, bias)
    assert (said.stopped, [f.pc - bias - table.start for f in said.frames]) == (None, [8, SIZE])
    frame = table.frame * table.image.arch.word
    assert [each.cfa for each in said.frames] == [STACK + frame, STACK + 2 * frame]
    assert said.frames[1].found_by.startswith(table.section)


@STRATEGIES
@pytest.mark.parametrize("distance", [SIZE, 0x9_0000])
def test_it_stops_where_nothing_is_known(name: str, distance: int) -> None:
    pc = TABLES[name].start + distance
    said = walked(name, pc)
    assert isinstance(said.stopped, NoUnwindInfo)
    assert (said.stopped.pc, [frame.pc for frame in said.frames]) == (pc, [pc])
    assert distance == SIZE or "no image covers" in str(said.stopped)


@STRATEGIES
def test_it_exists_where_its_sections_do(name: str) -> None:
    strategy, made = UNWINDERS[name], TABLES[name].image
    assert strategy.applies_to(made) and strategy.rows is not None
    assert {row.start for row in strategy.rows(made)} >= {TABLES[name].start}
    for needed in strategy.needs:
        without = {section: made.sections[section] for section in made.sections if section != needed}
        assert not strategy.applies_to(replace(made, sections=without))


@STRATEGIES
def test_what_was_read_does_not_keep_the_image_alive(name: str) -> None:
    made, rows = replace(TABLES[name].image), UNWINDERS[name].rows
    assert rows is not None and rows(made)
    alive = ref(made)
    del made
    collect()
    assert alive() is None
