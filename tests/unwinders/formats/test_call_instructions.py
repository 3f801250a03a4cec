"""Which instruction set a call is read in, where another one begins right behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.image import Image, Segment
from unwinders.formats.call_instructions import call_before

CODE = 0x1000
ARM32 = ARCHES["arm32"]
BL = {"a32": bytes.fromhex("fcffffeb"), "thumb": bytes.fromhex("fff7fcff")}  # back to CODE, from CODE + 8 and + 4


@pytest.mark.parametrize(("isa", "behind"), [("a32", "thumb"), ("thumb", "a32")])
def test_a_call_at_the_end_of_a_function_is_read_as_that_function_is(isa: str, behind: str) -> None:
    """Its return address is where code of the other instruction set begins: a call of what never returns."""
    isas = {each.name: each for each in ARM32.isas}
    content = bytes(8 if isa == "a32" else 4) + BL[isa]
    end = CODE + len(content)
    marks = ((CODE, isas[isa]), (end, isas[behind]))
    segment = Segment(CODE, content + bytes(8), len(content) + 8, True, False, True)
    image = Image(Path("made-up"), ARM32, CODE, (segment,), {}, (), isa_marks=marks)
    call = call_before(image, end)
    assert call is not None and call.target == CODE
