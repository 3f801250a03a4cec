"""The chain of frame records, plain and with the row of a function's first instruction, on stacks built by hand."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES, Arch, FrameRecord
from testbed.arch.arm32 import CLANG_A32, GCC_A32, THUMB_R7
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage, Symbol
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister, UnreadableMemory
from tests.unwinders.frames import ARM32, ARM64, START, snapshot, words
from tests.unwinders.records import RECORDS, STACK, built_with, linked_frames
from unwinders.chains.fp_chain import FP_CHAIN
from unwinders.chains.fp_chain_entry import FP_CHAIN_ENTRY

CHAINS = pytest.mark.parametrize("strategy", [FP_CHAIN, FP_CHAIN_ENTRY], ids=lambda s: s.name)


@CHAINS
@pytest.mark.parametrize(("arch", "record"), RECORDS)
def test_the_chain_is_followed_to_a_pointer_of_zero(strategy: Unwinder, arch: Arch, record: FrameRecord) -> None:
    said = strategy.unwind(linked_frames(arch, record))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [0x1010, 0x1020, 0x1030])
    assert said.frames[1].found_by == f"frame record {record.name}"


@CHAINS
@pytest.mark.parametrize(("arch", "record"), RECORDS)
def test_the_chain_claims_pc_and_frame_pointer_and_sp_only_where_it_is_fixed(
    strategy: Unwinder, arch: Arch, record: FrameRecord
) -> None:
    at = linked_frames(arch, record)
    said = strategy.unwind(at)
    for frame in said.frames[1:]:
        assert set(frame.registers) == {arch.pc, record.pointer} | ({arch.sp} if record.cfa is not None else set())
    first = at.registers[record.pointer]
    assert said.frames[0].cfa == (None if record.cfa is None else first + record.cfa)
    assert said.frames[1].registers[record.pointer] == STACK + 12 * arch.word


@CHAINS
@pytest.mark.parametrize(("arch", "record"), RECORDS)
def test_a_frame_pointer_of_zero_is_the_root(strategy: Unwinder, arch: Arch, record: FrameRecord) -> None:
    said = strategy.unwind(linked_frames(arch, record, **{record.pointer: 0}))
    assert (said.stopped, len(said.frames)) == (None, 1)


@CHAINS
@pytest.mark.parametrize(("arch", "record"), RECORDS)
def test_a_frame_pointer_into_nowhere_stops(strategy: Unwinder, arch: Arch, record: FrameRecord) -> None:
    said = strategy.unwind(linked_frames(arch, record, **{record.pointer: 0x666}))
    assert isinstance(said.stopped, UnreadableMemory)
    assert said.stopped.pc == 0x1010


def test_gcc_and_clang_lay_the_a32_record_out_differently() -> None:
    """https://github.com/ARM-software/abi-aa/issues/24: with the wrong layout the chain is nonsense."""
    at = linked_frames(ARM32, GCC_A32)
    wrong = Snapshot(ARM32, at.registers, at.memory, (LoadedImage(built_with(ARM32, CLANG_A32)),))
    assert [frame.pc for frame in FP_CHAIN.unwind(wrong).frames] != [0x1010, 0x1020, 0x1030]


def test_where_the_instruction_set_changes_the_other_chain_register_is_unknown() -> None:
    """A Thumb frame's record gives r7; its A32 caller chains through r11, which nobody saved."""
    at = linked_frames(ARM32, THUMB_R7)
    a32, thumb = ARM32.isas
    mixed = built_with(ARM32, THUMB_R7)
    mixed = Image(mixed.path, ARM32, START, mixed.segments, {}, mixed.symbols, ((START, thumb), (0x1018, a32)), {})
    said = FP_CHAIN.unwind(Snapshot(ARM32, at.registers, at.memory, (LoadedImage(mixed),)))
    assert isinstance(said.stopped, UnknownRegister)
    assert [frame.pc for frame in said.frames] == [0x1010, 0x1020]


def test_a_load_bias_moves_the_question_not_the_answer() -> None:
    """The frame record is asked for at the link-time address."""
    at = linked_frames(ARM32, THUMB_R7, pc=0x5_1010)
    moved = LoadedImage(built_with(ARM32, THUMB_R7), bias=0x5_0000)
    said = FP_CHAIN.unwind(Snapshot(ARM32, at.registers, at.memory, (moved,)))
    assert said.frames[1].pc == 0x1020


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_code_outside_all_images_is_taken_for_the_default_layout(arch: Arch) -> None:
    at = linked_frames(arch, arch.isas[0].records[0])
    said = FP_CHAIN.unwind(Snapshot(arch, at.registers, at.memory, ()))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [0x1010, 0x1020, 0x1030])


def at_entry(arch: Arch, record: FrameRecord) -> Snapshot:
    """The same frames, but a fourth function has just been called: nothing of its own is on the stack but the call."""
    frames = linked_frames(arch, record)
    values = dict(frames.registers) | {arch.pc: START}
    if arch.link:
        return snapshot(
            arch, values | {arch.link: 0x1010}, [(STACK, frames.memory.read(STACK, 40 * arch.word))], frames.images
        )
    values[arch.sp] = STACK - arch.word
    stack = words(arch, 0x1010) + frames.memory.read(STACK, 40 * arch.word)
    return snapshot(arch, values, [(STACK - arch.word, stack)], frames.images)


@pytest.mark.parametrize(("arch", "record"), RECORDS)
def test_at_a_functions_first_instruction_the_entry_row_finds_the_caller(arch: Arch, record: FrameRecord) -> None:
    at = at_entry(arch, record)
    said = FP_CHAIN_ENTRY.unwind(at)
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, 0x1010, 0x1020, 0x1030])
    assert said.frames[0].cfa == STACK
    assert said.frames[1].registers[arch.sp] == STACK
    assert said.frames[1].registers[record.pointer] == at.registers[record.pointer]
    assert [frame.pc for frame in FP_CHAIN.unwind(at).frames] == [START, 0x1020, 0x1030], "the chain skips the caller"


@pytest.mark.parametrize(("arch", "record"), RECORDS)
def test_the_entry_row_is_for_interrupted_frames(arch: Arch, record: FrameRecord) -> None:
    """A return address equal to a function's address follows a call that does not return, at the end of another."""
    at = linked_frames(arch, record)
    said = FP_CHAIN_ENTRY.unwind(
        Snapshot(arch, at.registers, at.memory, (LoadedImage(named_at(arch, record, 0x1020)),))
    )
    assert [frame.pc for frame in said.frames] == [0x1010, 0x1020, 0x1030]
    assert said.frames[2].found_by == f"frame record {record.name}"


def named_at(arch: Arch, record: FrameRecord, address: int) -> Image:
    made = built_with(arch, record)
    symbols = (Symbol("f", START, address - START, True), Symbol("g", address, 0x100, True))
    return Image(made.path, arch, START, made.segments, {}, symbols, made.isa_marks, made.frame_records)


@pytest.mark.parametrize(("arch", "record"), RECORDS)
def test_one_instruction_further_the_entry_row_is_gone(arch: Arch, record: FrameRecord) -> None:
    at = at_entry(arch, record)
    later = Snapshot(arch, dict(at.registers) | {arch.pc: START + 4}, at.memory, at.images)
    assert [frame.pc for frame in FP_CHAIN_ENTRY.unwind(later).frames] == [START + 4, 0x1020, 0x1030]


def test_arm64_does_not_fix_the_distance_from_the_frame_pointer_to_the_cfa() -> None:
    """GCC puts the record at the bottom of the frame, Clang at the top (traps of chain walkers that derive SP)."""
    assert all(record.cfa is None for isa in ARM64.isas for record in isa.records)
