"""`eh_frame` on stacks built by hand: which row it applies, and where it stops."""

from __future__ import annotations

import re

import pytest

from testbed.contract.rows import SameValue
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.frames import START, X86_64, block, cie, entry, image, snapshot, u, words
from tests.unwinders.records import STACK
from unwinders.tables.eh_frame import EH_FRAME


def covered(instructions: bytes = b"", *, augmentation: bytes = b"zR", size: int = 0x20) -> Image:
    """x86_64 code at START, covered by one FDE of ``size`` bytes: CFA = rsp + 8, return address below it."""
    first = cie(b"\x0c\x07\x08\x90\x01", id=bytes(4), augmentation=augmentation, area=b"\x00")
    body = u(4, len(first) + 4) + u(8, START) + u(8, size) + block(b"") + instructions
    return image(X86_64, _eh_frame=(0x4000, first + entry(body)))


def calling(made: Image, *stack: int, bias: int = 0, pc: int = START) -> Snapshot:
    values = {register.name: 0x7000 for register in X86_64.registers} | {"rip": pc + bias, "rsp": STACK}
    return snapshot(X86_64, values, [(STACK, words(X86_64, *stack))], [LoadedImage(made, bias)])


def test_eh_frame_applies_the_row_of_the_pc() -> None:
    """After one byte the frame is one word bigger: at the second instruction the same stack says something else."""
    made = covered(b"\x41\x0e\x10")
    assert [frame.pc for frame in EH_FRAME.unwind(calling(made, 0x1018, 0x7, 0)).frames] == [START, 0x1018]
    said = EH_FRAME.unwind(calling(made, 0x7, 0x1018, 0x8, 0, pc=START + 1))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START + 1, 0x1018])
    assert said.frames[1].found_by.startswith(".eh_frame+0x")
    assert said.frames[1].registers["rbx"] == 0x7000


def test_eh_frame_looks_up_a_caller_inside_its_call() -> None:
    """The call is the last instruction: the return address 0x1020 is not in the FDE [0x1000, 0x1020) any more."""
    said = EH_FRAME.unwind(calling(covered(), 0x1020, 0))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, 0x1020])


def test_eh_frame_looks_up_the_frame_above_a_signal_frame_by_its_pc() -> None:
    """Interrupted at its first instruction: pc - 1 would be the function before it, or none."""
    made = covered(augmentation=b"zRS")
    said = EH_FRAME.unwind(calling(made, START, 0, pc=START + 8))
    assert [frame.pc for frame in said.frames[:2]] == [START + 8, START]


def test_a_pc_of_zero_that_was_interrupted_is_no_end_of_the_stack() -> None:
    """A call through a null pointer: the signal's frame holds a pc of zero."""
    said = EH_FRAME.unwind(calling(covered(augmentation=b"zRS"), START, 0, pc=START + 8))
    assert [frame.pc for frame in said.frames] == [START + 8, START, 0]
    assert isinstance(said.stopped, NoUnwindInfo)


def test_eh_frame_is_searched_in_link_time_addresses() -> None:
    said = EH_FRAME.unwind(calling(covered(), 0x5_1008, 0, bias=0x5_0000))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [0x5_1000, 0x5_1008])


@pytest.mark.parametrize(("pc", "why"), [(0x1020, "no row of .eh_frame covers"), (0x9_0000, "no image covers")])
def test_eh_frame_stops_where_nothing_covers_the_pc(pc: int, why: str) -> None:
    said = EH_FRAME.unwind(calling(covered(), 0x1008, pc=pc))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert re.match(why, str(said.stopped))
    assert (said.stopped.pc, len(said.frames)) == (pc, 1)


def test_eh_frame_says_where_its_table_is_broken() -> None:
    said = EH_FRAME.unwind(calling(covered(b"\x3f"), 0x1008))
    assert isinstance(said.stopped, MalformedTable)
    assert said.stopped.section == ".eh_frame"


def test_eh_frame_exists_where_the_section_does() -> None:
    assert EH_FRAME.applies_to(covered())
    assert not EH_FRAME.applies_to(image(X86_64))
    assert EH_FRAME.rows is not None
    assert [row.registers.get("rbx", SameValue()) for row in EH_FRAME.rows(covered())] == [SameValue()]
