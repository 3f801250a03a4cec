"""Every walk ends: SP or the frame pointer goes outwards, and where it need not, no frame comes a second time."""

from __future__ import annotations

import pytest

from testbed.arch import Arch
from testbed.contract.frames import FrameKind
from testbed.contract.rows import AtCfa, AtRegister, Constant, RegisterPlus, Rule, SameValue, Undefined, UnwindRow
from testbed.image import LoadedImage
from testbed.words.errors import NoProgress
from tests.unwinders.frames import ARM32, ARM64, START, image, snapshot, words
from tests.unwinders.rows.walked import ALL, STACK, always, machine, row, until_root
from unwinders.rows.walk import walk

ARM = pytest.mark.parametrize("arch", [ARM64, ARM32], ids=str)


@ALL
def test_sp_going_back_is_no_progress(arch: Arch) -> None:
    back = row(arch, RegisterPlus(arch.sp, -arch.word), Constant(0x1010))
    said = walk(machine(arch), always(back))
    assert isinstance(said.stopped, NoProgress)
    assert "goes back" in str(said.stopped)
    assert len(said.frames) == 1
    assert said.frames[0].cfa is None, "a row that leads back is not believed about the CFA either"


@ALL
@pytest.mark.parametrize("words", [0, 3])
def test_sp_may_go_back_where_the_return_address_lies_on_the_stack(arch: Arch, words: int) -> None:
    """A function moves its return address up the stack, and SP with it: its CFA is below its SP."""
    w = arch.word
    moved = row(arch, RegisterPlus(arch.preserved[0], 0), AtCfa((2 + words) * w))
    rows = {START: moved, 0x1010: row(arch, RegisterPlus(arch.sp, 8 * w), AtCfa(-w))}
    at = machine(arch, *[0x1010] * 5, 0x1020, **{arch.preserved[0]: STACK - 2 * w})
    said = walk(at, lambda frame, loaded: rows.get(frame.pc, row(arch, None, Undefined())))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, 0x1010, 0x1020])
    assert [frame.registers[arch.sp] for frame in said.frames] == [STACK, STACK - 2 * w, STACK + 6 * w]


@ALL
def test_sp_may_not_go_back_for_a_return_address_from_below_it(arch: Arch) -> None:
    w = arch.word
    below = row(arch, RegisterPlus(arch.preserved[0], 0), AtRegister(arch.sp, -w))
    at = machine(arch, 0x1010, 0x1010, **{arch.preserved[0]: STACK - w, arch.sp: STACK + w})
    said = walk(at, always(below))
    assert isinstance(said.stopped, NoProgress)
    assert f"{arch.sp} goes back" in str(said.stopped)
    assert len(said.frames) == 1


@ALL
def test_sp_may_not_go_back_by_a_frame_pointer_while_a_register_has_the_return_address(arch: Arch) -> None:
    """A synchronous row in a prologue: the frame pointer is another function's yet."""
    pointer, keeper = arch.frame_pointers[0], arch.preserved[-1]
    early = row(arch, RegisterPlus(pointer, 0), RegisterPlus(keeper, 0))
    said = walk(machine(arch, **{pointer: STACK - 2 * arch.word, keeper: 0x1010}), always(early))
    assert isinstance(said.stopped, NoProgress)
    assert f"{arch.sp} goes back" in str(said.stopped)


@ALL
def test_sp_may_not_go_back_to_what_memory_says(arch: Arch) -> None:
    """The row of a signal's trampoline, used for a frame that is none: all registers come from anywhere."""
    w = arch.word
    restores = row(arch, AtRegister(arch.sp, 0), AtRegister(arch.sp, w))
    said = walk(machine(arch, 0x1000, 0x1010), always(restores))
    assert isinstance(said.stopped, NoProgress)
    assert f"{arch.sp} goes back" in str(said.stopped)


@ALL
def test_sp_may_not_go_back_around_the_end_of_the_address_space(arch: Arch) -> None:
    """A garbage register as the CFA: the word in front of address 0 is the last one there is, and above SP."""
    w, end = arch.word, 1 << 8 * arch.word
    wraps = row(arch, RegisterPlus(arch.preserved[0], 0), AtCfa(-w))
    registers = {r.name: 0 for r in arch.registers} | {arch.pc: START, arch.sp: STACK}
    at = snapshot(arch, registers, [(end - w, words(arch, 0x1010))], [LoadedImage(image(arch))])
    said = walk(at, always(wraps))
    assert isinstance(said.stopped, NoProgress)
    assert f"{arch.sp} goes back" in str(said.stopped)


@ALL
def test_sp_may_go_back_where_the_return_address_is_in_a_register(arch: Arch) -> None:
    """Arguments are off the stack before a function returns by a register."""
    register = arch.preserved[0]
    popped = row(arch, RegisterPlus(arch.sp, -2 * arch.word), RegisterPlus(register, 0))
    rows = {START: popped}
    at = machine(arch, 0, **{register: 0x1010})
    said = walk(at, lambda frame, loaded: rows.get(frame.pc, row(arch, None, Undefined())))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, 0x1010])
    assert said.frames[1].registers[arch.sp] == STACK - 2 * arch.word


@ALL
def test_a_walk_that_goes_back_and_forth_ends(arch: Arch) -> None:
    w, keeper = arch.word, arch.preserved[0]
    back = row(arch, RegisterPlus(arch.sp, -2 * w), RegisterPlus(keeper, 0))
    forth = row(arch, RegisterPlus(arch.sp, 2 * w), Constant(0x1010))
    rows = {0x1010: back, 0x1020: forth}
    at = machine(arch, **{keeper: 0x1020})
    said = walk(at, lambda frame, loaded: rows.get(frame.pc, forth))
    assert isinstance(said.stopped, NoProgress)
    assert "there already" in str(said.stopped)
    assert [frame.pc for frame in said.frames] == [START, 0x1010, 0x1020]


@ALL
def test_sp_may_stay_for_the_interrupted_frame_only(arch: Arch) -> None:
    """With the return address read from memory, a caller of its own must have pushed it."""
    stays = row(arch, RegisterPlus(arch.sp, 0), AtCfa(0))
    said = walk(machine(arch, 0x1010, 0x1020), always(stays))
    assert isinstance(said.stopped, NoProgress)
    assert f"{arch.sp} stays" in str(said.stopped)
    assert [frame.pc for frame in said.frames] == [START, 0x1010]


@ARM
def test_sp_may_stay_where_a_register_keeps_the_return_address(arch: Arch) -> None:
    """A helper that keeps its return address in a callee-saved register and pushes nothing."""
    keeper = arch.preserved[0]
    first = row(arch, RegisterPlus(arch.sp, 0))  # a leaf: still in the link register
    second = row(arch, RegisterPlus(arch.sp, 0), RegisterPlus(keeper, 0))
    rows = {START: first, 0x1010: second}
    at = machine(arch, **{str(arch.link): 0x1010, keeper: 0x1020})
    said = walk(at, lambda frame, loaded: rows.get(frame.pc, row(arch, None, Undefined())))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, 0x1010, 0x1020])


@ALL
def test_a_frame_that_calls_itself_without_a_stack_is_no_progress(arch: Arch) -> None:
    loop = row(arch, RegisterPlus(arch.sp, 0), Constant(START))
    said = walk(machine(arch), always(loop))
    assert isinstance(said.stopped, NoProgress)
    assert [frame.pc for frame in said.frames] == [START, START]


@ALL
def test_the_interrupted_pc_may_be_its_own_return_address(arch: Arch) -> None:
    """``call f`` is the last instruction of its function, f stands right behind it, and f has not moved SP."""
    inner = row(arch, RegisterPlus(arch.sp, 0), Constant(START))
    outer = row(arch, None, Undefined())
    said = walk(machine(arch), lambda frame, loaded: inner if frame.kind is FrameKind.INTERRUPTED else outer)
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, START])


@ALL
def test_two_frames_in_a_ring_are_no_progress(arch: Arch) -> None:
    rows = {START: row(arch, RegisterPlus(arch.sp, 0), Constant(0x1010))}
    other = row(arch, RegisterPlus(arch.sp, 0), Constant(START))
    said = walk(machine(arch), lambda frame, loaded: rows.get(frame.pc, other))
    assert isinstance(said.stopped, NoProgress)
    assert "there already" in str(said.stopped)
    assert [frame.pc for frame in said.frames] == [START, 0x1010, START]


def chain(arch: Arch) -> tuple[str, UnwindRow]:
    """A frame-pointer row that does not know SP."""
    pointer = arch.frame_pointers[0]
    rules: dict[str, Rule] = {arch.sp: Undefined(), pointer: AtRegister(pointer, 0)}
    return pointer, row(arch, None, AtRegister(pointer, arch.word), **rules)


@ALL
@pytest.mark.parametrize(("to", "why"), [(0, "stays"), (-1, "goes back")])
def test_a_frame_pointer_must_move_outwards_where_sp_is_unknown(arch: Arch, to: int, why: str) -> None:
    """The interrupted frame's may stay (it may not be linked yet); its caller's may not."""
    w = arch.word
    pointer, links = chain(arch)
    at = machine(arch, STACK + 4 * w, 0x1010, 0, 0, STACK + (4 + 2 * to) * w, 0x1020, **{pointer: STACK})
    said = walk(at, always(links))
    assert isinstance(said.stopped, NoProgress)
    assert f"{pointer} {why}" in str(said.stopped)
    assert [frame.pc for frame in said.frames] == [START, 0x1010]


@ALL
def test_a_frame_pointer_of_zero_is_no_step_back(arch: Arch) -> None:
    pointer, links = chain(arch)
    at = machine(arch, STACK + 2 * arch.word, 0x1010, 0, 0x1020, **{pointer: STACK})
    said = walk(at, until_root(links, arch, 0x1020))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, 0x1010, 0x1020])
    assert said.frames[-1].registers[pointer] == 0


@ALL
def test_a_frame_pointer_that_points_to_itself_ends(arch: Arch) -> None:
    pointer, links = chain(arch)
    said = walk(machine(arch, STACK, START, **{pointer: STACK}), always(links))
    assert isinstance(said.stopped, NoProgress)
    assert len(said.frames) <= 2


def test_the_link_register_default_may_stay_too() -> None:
    """The row has no rule at all for the return address: it is still in the link register."""
    at = machine(ARM64, x30=0x1010)
    said = walk(at, until_root(row(ARM64, RegisterPlus("sp", 0), SameValue()), ARM64, 0x1010))
    assert (said.stopped, len(said.frames)) == (None, 2)
