"""The strategies on stacks built by hand: what each one claims, and what it must not."""

from __future__ import annotations

import re

import pytest

from testbed.arch import ARCHES, Arch, FrameRecord
from testbed.arch.arm32 import CLANG_A32, GCC_A32, THUMB_R7
from testbed.contract.rows import SameValue
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage, Symbol
from testbed.trace import Snapshot
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnknownRegister, UnreadableMemory
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, block, cie, entry, image, snapshot, u, words
from unwinders import UNWINDERS
from unwinders.chains.fp_chain import FP_CHAIN
from unwinders.chains.fp_chain_entry import FP_CHAIN_ENTRY
from unwinders.tables.eh_frame import EH_FRAME

STACK = 0x8000
RECORDS = [
    pytest.param(arch, record, id=f"{arch}-{record.name}")
    for arch in ARCHES.values()
    for isa in arch.isas
    for record in isa.records
]
CHAINS = pytest.mark.parametrize("strategy", [FP_CHAIN, FP_CHAIN_ENTRY], ids=lambda s: s.name)


def built_with(arch: Arch, record: FrameRecord) -> Image:
    """An image whose one function, at START, was compiled with this frame record."""
    isa = next(isa for isa in arch.isas if record in isa.records)
    plain = image(arch, symbols=(Symbol("f", START, 0x100, True),))
    return Image(plain.path, arch, START, plain.segments, {}, plain.symbols, ((START, isa),), {isa.name: record})


def linked_frames(arch: Arch, record: FrameRecord, **registers: int) -> Snapshot:
    """Three frames in mid-function; the outermost has a frame pointer of zero."""
    stack = bytearray(40 * arch.word)
    first, second = STACK + 4 * arch.word, STACK + 12 * arch.word
    for at, pointer, return_address in ((first, second, 0x1020), (second, 0, 0x1030)):
        for offset, value in ((record.saved_pointer, pointer), (record.return_address, return_address)):
            start = at + offset - STACK
            stack[start : start + arch.word] = u(arch.word, value)
    values = {register.name: 0x7000 for register in arch.registers} | {arch.pc: 0x1010, arch.sp: STACK}
    values |= {record.pointer: first, **registers}
    return snapshot(arch, values, [(STACK, bytes(stack))], [LoadedImage(built_with(arch, record))])


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


# eh_frame


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


# The catalogue


def test_the_catalogue_is_in_report_order_under_its_own_names() -> None:
    order = list(UNWINDERS)
    assert order[0] == "fp_chain"
    assert order.index("fp_chain") < order.index("eh_frame") < order.index("stack_scan"), "chains, tables, scans"
    assert all(name == strategy.name and strategy.summary for name, strategy in UNWINDERS.items())


@pytest.mark.parametrize("strategy", UNWINDERS.values(), ids=lambda s: s.name)
def test_limits_are_reasoned_and_referenced(strategy: Unwinder) -> None:
    for limit in strategy.limits:
        assert isinstance(limit.trait, Trait)
        assert limit.outcomes
        assert Outcome.EXACT not in limit.outcomes
        assert limit.because.strip()
        assert re.match(r"https://|AAPCS|System V", limit.reference), limit
    pairs = [(limit.trait, outcome) for limit in strategy.limits for outcome in limit.outcomes]
    assert len(pairs) == len(set(pairs)), "two limits for one trait and outcome: which one explains?"


def test_the_table_strategy_is_limited_by_its_table_only() -> None:
    """No limit at a prologue, an epilogue or any other place that a trace can show, but where there is no code."""
    assert {limit.trait for limit in EH_FRAME.limits if not limit.trait.declared} <= {
        Trait.WRONG_TABLE,
        Trait.NO_TABLE,
        Trait.NO_CODE,
    }


def test_arm64_does_not_fix_the_distance_from_the_frame_pointer_to_the_cfa() -> None:
    """GCC puts the record at the bottom of the frame, Clang at the top (traps of chain walkers that derive SP)."""
    assert all(record.cfa is None for isa in ARM64.isas for record in isa.records)
