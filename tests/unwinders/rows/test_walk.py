"""The walk: its frames in order, who is looked up where, and that no stop throws away what was found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from testbed.arch import Arch
from testbed.contract.frames import Frame, FrameKind
from testbed.contract.rows import Constant, Offset, RegisterPlus, Undefined, UnwindRow, ValExpression
from testbed.image import LoadedImage
from testbed.words.errors import NoProgress, NoUnwindInfo, UnreadableMemory, UnwindError
from tests.unwinders.frames import START, X86_64, u
from tests.unwinders.rows.expressions import parse
from tests.unwinders.rows.walked import ALL, STACK, always, machine, popping, row, until_root
from unwinders.rows.walk import MAX_FRAMES, walk

# words of the stack, the pc with the root's row; how many frames are found, why the walk stops, what it tells
WALKS: list[tuple[Sequence[int], int, int, type[UnwindError] | None, str]] = [
    ([0x1010, 0x1020, 0x1030], 0x1030, 4, None, ""),
    ([0x1010, 0], -1, 2, None, ""),  # a return address of zero is the root
    ([0x1010, 0x1020], -1, 3, UnreadableMemory, ""),  # what was found until then is kept
    # Every frame is further out than the last, so only the number of frames can end this.
    ([0x1010] * (MAX_FRAMES + 10), -1, MAX_FRAMES, NoProgress, f"more than {MAX_FRAMES} frames"),
    ([0x1010] * (MAX_FRAMES - 1) + [0], -1, MAX_FRAMES, None, ""),
]


@ALL
@pytest.mark.parametrize(("stack", "root", "count", "stop", "told"), WALKS)
def test_frames_of_one_word(
    arch: Arch, stack: Sequence[int], root: int, count: int, stop: type[UnwindError] | None, told: str
) -> None:
    said = walk(machine(arch, *stack), until_root(popping(arch), arch, root))
    assert [frame.pc for frame in said.frames] == [START, *stack][:count]
    cfas = [STACK + arch.word * (i + 1) for i in range(count)]
    assert [frame.cfa for frame in said.frames] == [*cfas[:-1], None if stop or root > 0 else cfas[-1]]
    assert [frame.found_by for frame in said.frames] == ["registers"] + ["test row"] * (count - 1)
    assert [frame.kind for frame in said.frames] == [FrameKind.INTERRUPTED] + [FrameKind.CALLER] * (count - 1)
    assert said.stopped is None if stop is None else isinstance(said.stopped, stop)
    assert said.stopped is None or told in str(said.stopped)
    assert said.stopped is None or said.stopped.pc == said.frames[-1].pc


@ALL
def test_the_first_frame_has_all_registers(arch: Arch) -> None:
    at = machine(arch, 0x1010)
    assert walk(at, always(row(arch, None, Undefined()))).frames[0].registers == at.registers


@ALL
def test_callers_are_looked_up_inside_the_call(arch: Arch) -> None:
    asked: list[tuple[int, int | None]] = []

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        asked.append((frame.lookup_pc, None if loaded is None else loaded.bias))
        return popping(arch)

    walk(machine(arch, 0x2000, 0x1000), row_for)
    assert asked == [(START, 0), (0x1FFF, 0), (0x0FFF, None)]


@ALL
def test_an_address_in_a_row_of_no_image_is_that_address(arch: Arch) -> None:
    address = parse(b"\x03" + u(arch.word, 0x4000), arch.word)
    made = row(arch, RegisterPlus(arch.sp, arch.word), ValExpression(address))

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if frame.pc == 0x4000:
            raise NoUnwindInfo("nothing here")
        return made if loaded is None else popping(arch)

    assert [frame.pc for frame in walk(machine(arch, 0x900), row_for).frames] == [START, 0x900, 0x4000]


def test_no_row_stops_at_the_frame_that_has_none() -> None:
    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if frame.pc == 0x1010:
            raise NoUnwindInfo("nothing here")
        return popping(X86_64)

    said = walk(machine(X86_64, 0x1010, 0x1020), row_for)
    assert isinstance(said.stopped, NoUnwindInfo)
    assert (said.stopped.pc, len(said.frames)) == (0x1010, 2)


def test_a_bug_in_a_strategy_is_no_answer() -> None:
    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        walk(machine(X86_64, 0x1010), row_for)


def test_a_signal_frame_may_lead_to_another_stack() -> None:
    """A handler on an alternate stack above the interrupted one: SP goes back, and that is the truth."""
    to_signal = popping(X86_64)
    signal = UnwindRow(0, 1, RegisterPlus("rsp", 8), {"rip": Offset(-8), "rsp": Constant(0x100)}, "rip", True)
    rows = {START: to_signal, 0x1010: signal}
    at = machine(X86_64, 0x1010, 0x1020)
    said = walk(at, lambda frame, loaded: rows.get(frame.pc, row(X86_64, None, Undefined())))
    assert said.stopped is None
    assert [frame.registers["rsp"] for frame in said.frames] == [STACK, STACK + 8, 0x100]
    assert said.frames[-1].kind is FrameKind.INTERRUPTED


def test_a_pc_of_zero_that_was_interrupted_is_no_end_of_the_stack() -> None:
    """A call through a null pointer: the signal's frame holds a pc of zero."""
    signal = UnwindRow(0, 1, RegisterPlus("rsp", 8), {"rip": Offset(-8)}, "rip", True)
    said = walk(machine(X86_64, 0), always(signal))
    assert [frame.pc for frame in said.frames] == [START, 0]
    assert isinstance(said.stopped, UnreadableMemory)
