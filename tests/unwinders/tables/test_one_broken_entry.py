"""An entry that cannot be read is its own function's matter, in every format: the rest of the section stays readable.

A real program is run; then one entry, that of `middle` or `descend`, is damaged in the file that the strategies see. At
every step the strategies say what they said before, up to the first frame in that function: there they stop and give
the reason. The native walk over the whole trace says the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.machine import record
from testbed.trace import Trace
from testbed.words.errors import MalformedTable
from tests.unwinders.said import said
from unwinders import UNWINDERS

Damage = Callable[[bytearray, int], None]  # of a section, at the place that a row says it was found at


def unknown_instruction(data: bytearray, fde: int) -> None:
    """The last byte of an FDE, which is padding: a call frame instruction that does not exist."""
    data[fde + 3 + int.from_bytes(data[fde : fde + 4], "little")] = 0x3F


def other_bytes(at: int, *values: int) -> Damage:
    def damage(data: bytearray, offset: int) -> None:
        data[offset + at : offset + at + len(values)] = bytes(values)

    return damage


CASES = {
    "eh_frame": ("x86_64", "keystone", ".eh_frame", unknown_instruction),
    "eh_frame of arm64": ("arm64", "keystone", ".eh_frame", unknown_instruction),
    "eh_frame_hdr": ("x86_64", "keystone", ".eh_frame", unknown_instruction),
    "debug_frame": ("arm32", "keystone", ".debug_frame", unknown_instruction),
    "ehabi": ("arm32", "keystone", ".ARM.exidx", other_bytes(4, 0, 0, 0, 0x8F)),  # no such personality routine
    "ehabi, no address": ("arm32", "keystone", ".ARM.exidx", other_bytes(0, 0, 0, 0, 0x80)),
    "ehabi, not sorted": ("arm32", "keystone", ".ARM.exidx", other_bytes(0, 0, 0, 0, 0x3F)),
    "sframe": ("x86_64", "keystone", ".sframe", other_bytes(1, 0x60)),  # words of a size that does not exist
    "sframe of arm64": ("arm64", "keystone", ".sframe", other_bytes(1, 0x60)),
    "orc": ("x86_64", "keystone", ".orc_unwind", other_bytes(4, 0xFF, 0xFF)),
    "compact_unwind": ("arm64", "macho-O2", "__TEXT,__unwind_info", other_bytes(3, 0x7F)),  # an encoding of none
}


def code(image: Image) -> range:
    low = min(s.address for s in image.segments if s.executable)
    return range(low, low + max(s.size for s in image.segments if s.executable))


@pytest.mark.parametrize("case", CASES)
def test_a_broken_entry_is_its_own_functions_matter(case: str) -> None:
    arch, recipe, section, damage = CASES[case]
    unwinder = UNWINDERS[case.split(" ")[0].rstrip(",")]
    program, name = ("leaf_call", "middle") if recipe == "keystone" else ("recursion", "descend")
    built = build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe])
    trace = record(built.image, cpu=built.cpu)
    assert unwinder.rows is not None
    whole = unwinder.rows(built.image)
    function = next(symbol for symbol in built.image.symbols if symbol.name == name)
    row = whole.at(function.address)
    assert row is not None
    sound = built.image.sections[section]
    data = bytearray(sound.data)
    damage(data, int(row.found_by.partition("+")[2], 16))
    broken = replace(built.image, sections={**built.image.sections, section: replace(sound, data=bytes(data))})
    table = unwinder.rows(broken)
    lost = {pc for pc in code(built.image) if whole.at(pc) is not None and table.at(pc) is None}
    assert function.address in lost
    assert len(whole) > len(table) > 0
    for pc in code(built.image):
        stop = table.stop_at(pc)
        assert (table.at(pc) is not None) == (whole.at(pc) is not None and pc not in lost)
        assert isinstance(stop, MalformedTable) == (pc in lost), (hex(pc), stop)
    assert walked(unwinder, trace, broken, lost) > 1


def walked(unwinder: Unwinder, trace: Trace, broken: Image, lost: set[int]) -> int:
    """How many steps come to a frame without a row; at all others nothing has changed."""
    bias = trace.images[0].bias
    other = replace(trace, images=(LoadedImage(broken, bias), *trace.images[1:]))
    assert unwinder.unwind_trace
    natively, stopped = unwinder.unwind_trace(other), 0
    for step in range(len(trace)):
        before, now = unwinder.unwind(trace.snapshot(step)), unwinder.unwind(other.snapshot(step))
        assert said(natively[step]) == said(now), f"step {step}"
        hit = next((i for i, frame in enumerate(before.frames) if frame.lookup_pc - bias in lost), None)
        if hit is None:
            assert said(now) == said(before), f"step {step}"
            continue
        stopped += 1
        assert [frame.pc for frame in now.frames] == [frame.pc for frame in before.frames[: hit + 1]], f"step {step}"
        assert isinstance(now.stopped, MalformedTable), f"step {step}: {now.stopped}"
        assert now.stopped.pc == now.frames[-1].pc
    return stopped
