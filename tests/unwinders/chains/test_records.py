"""Techniques that follow frame records, on stacks built by hand of every layout. Every quirk is theirs, and stays."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from testbed.arch import ARCHES, Arch, FrameRecord
from testbed.arch.arm32 import CLANG_A32, GCC_A32, THUMB_R7
from testbed.image import Image, LoadedImage, Symbol
from testbed.runs.by_name import named_run
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnknownRegister, UnreadableMemory
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, image, snapshot, u, words
from unwinders import UNWINDERS
from unwinders.chains.builtin_return_address import LEVELS
from unwinders.chains.qi_stack_frame import MOST_FRAMES
from unwinders.chains.shadow_call_stack import MAX_FRAMES, SHADOW_CALL_STACK

# Stacks of frame records, built by hand, of every layout.


STACK = 0x8000
FIRST, SECOND = 4, 12  # where the frame records are, in words from SP
RECORDS = [
    pytest.param(arch, record, id=f"{arch}-{record.name}")
    for arch in ARCHES.values()
    for isa in arch.isas
    for record in isa.records
]


def built_with(arch: Arch, record: FrameRecord) -> Image:
    """An image whose one function, at START, was compiled with this frame record."""
    isa = next(isa for isa in arch.isas if record in isa.records)
    plain = image(arch, symbols=(Symbol("f", START, 0x100, True),))
    return Image(plain.path, arch, START, plain.segments, {}, plain.symbols, ((START, isa),), {isa.name: record})


def with_records(arch: Arch, record: FrameRecord, records: Mapping[int, tuple[int, int]], **registers: int) -> Snapshot:
    """A stack with these frame records, by their place in words from SP: where each one leads, and its return address.

    The frame pointer leads to the first one. A place of 0 ends the chain.
    """
    stack = bytearray(40 * arch.word)
    for place, (leads_to, return_address) in records.items():
        pointer = STACK + leads_to * arch.word if leads_to else 0
        for offset, value in ((record.saved_pointer, pointer), (record.return_address, return_address)):
            start = place * arch.word + offset
            stack[start : start + arch.word] = u(arch.word, value)
    values = {register.name: 0x7000 for register in arch.registers} | {arch.pc: 0x1010, arch.sp: STACK}
    values |= {record.pointer: STACK + min(records) * arch.word, **registers}
    return snapshot(arch, values, [(STACK, bytes(stack))], [LoadedImage(built_with(arch, record))])


def linked_frames(arch: Arch, record: FrameRecord, **registers: int) -> Snapshot:
    """Three frames in mid-function; the outermost has a frame pointer of zero."""
    return with_records(arch, record, {FIRST: (SECOND, 0x1020), SECOND: (0, 0x1030)}, **registers)


EVERY_RECORD = pytest.mark.parametrize(("arch", "record"), RECORDS)
LOGGERS = ("qi_stack_frame", "bs_backtrace", "builtin_return_address", "glibc_backtrace_fp")


def pcs(at: Snapshot, name: str) -> list[int]:
    return [frame.pc for frame in UNWINDERS[name].unwind(at).frames]


# unwinders, the frame pointer in words from SP or as it is (None: at the first record), the link register, the frames
# behind the interrupted one (LINK: of the link register, where there is one), why it stops
LINK, NOWHERE, ABOVE = 0x1044, 0x666, 40
BOTH = [0x1020, 0x1030]
Pointer = int | None
FOLLOWED: list[tuple[str, Pointer, int, list[int], type[Exception] | None]] = [
    ("fp_chain fp_chain_entry", None, LINK, BOTH, None),
    ("fp_chain fp_chain_entry", 0, LINK, [], None),
    ("fp_chain fp_chain_entry", NOWHERE, LINK, [], UnreadableMemory),
    ("qi_stack_frame", None, LINK, [LINK, *BOTH], None),  # whatever it holds
    ("qi_stack_frame", None, 0, BOTH, None),
    ("qi_stack_frame", 0, 0, [], None),
    ("qi_stack_frame", NOWHERE, 0, [], None),
    ("bs_backtrace", None, LINK, [LINK, 0x1020], None),  # it loses the outermost one
    ("bs_backtrace", None, 0, [0x1020], None),
    ("bs_backtrace", 0, 0, [], NoUnwindInfo),
    ("bs_backtrace", NOWHERE, 0, [], UnreadableMemory),
    ("builtin_return_address", None, LINK, BOTH, UnreadableMemory),  # it dereferences the zero that ends the chain
    ("glibc_backtrace_fp", None, LINK, BOTH, None),
    *(("glibc_backtrace_fp", outside, LINK, [], None) for outside in (0, STACK - 1, STACK + 8 * ABOVE)),
]


@EVERY_RECORD
@pytest.mark.parametrize(("names", "pointer", "link", "callers", "stop"), FOLLOWED)
def test_a_chain_is_followed(
    arch: Arch,
    record: FrameRecord,
    names: str,
    pointer: Pointer,
    link: int,
    callers: list[int],
    stop: type[Exception] | None,
) -> None:
    registers = {arch.link: link} if arch.link else {}
    at = linked_frames(arch, record, **registers, **({} if pointer is None else {record.pointer: pointer}))
    expected = [pc for pc in callers if pc != LINK or arch.link]
    for name in names.split():
        said = UNWINDERS[name].unwind(at)
        assert [frame.pc for frame in said.frames] == [0x1010, *expected]
        assert stop is None if said.stopped is None else type(said.stopped) is stop
        assert said.stopped is None or said.stopped.pc == said.frames[-1].pc


@EVERY_RECORD
def test_a_chain_that_goes_on_for_ever_is_cut(arch: Arch, record: FrameRecord) -> None:
    """A record that leads to itself: no logger checks for that, each has a number of its own."""
    loop = with_records(arch, record, {FIRST: (FIRST, 0x1020)})
    found = [len(pcs(loop, name)) for name in LOGGERS]
    assert found == [MOST_FRAMES, MOST_FRAMES, LEVELS + 1, 1024]


@EVERY_RECORD
def test_what_is_claimed_of_a_caller(arch: Arch, record: FrameRecord) -> None:
    """By the chains pc and frame pointer, and SP where the convention fixes it; by loggers an address."""
    at = linked_frames(arch, record)
    for name in ("fp_chain", "fp_chain_entry"):
        said = UNWINDERS[name].unwind(at)
        fixed = {arch.pc, record.pointer} | ({arch.sp} if record.cfa is not None else set())
        assert all(set(frame.registers) == fixed for frame in said.frames[1:])
        assert said.frames[0].cfa == (None if record.cfa is None else at.registers[record.pointer] + record.cfa)
        assert said.frames[1].registers[record.pointer] == STACK + SECOND * arch.word
        assert said.frames[1].found_by == f"frame record {record.name}"
    for name in LOGGERS:
        for frame in UNWINDERS[name].unwind(at).frames[1:]:
            assert (dict(frame.registers), frame.cfa) == ({arch.pc: frame.pc}, None)


def test_gcc_and_clang_lay_the_a32_record_out_differently() -> None:
    """https://github.com/ARM-software/abi-aa/issues/24: with the wrong layout the chain is nonsense."""
    at = linked_frames(ARM32, GCC_A32)
    wrong = Snapshot(ARM32, at.registers, at.memory, (LoadedImage(built_with(ARM32, CLANG_A32)),))
    assert pcs(wrong, "fp_chain") != [0x1010, *BOTH]


def test_where_the_instruction_set_changes_the_other_chain_register_is_unknown() -> None:
    """A Thumb frame's record gives r7; its A32 caller chains through r11, which nobody saved."""
    at, made = linked_frames(ARM32, THUMB_R7), built_with(ARM32, THUMB_R7)
    a32, thumb = ARM32.isas
    mixed = Image(made.path, ARM32, START, made.segments, {}, made.symbols, ((START, thumb), (0x1018, a32)), {})
    said = UNWINDERS["fp_chain"].unwind(Snapshot(ARM32, at.registers, at.memory, (LoadedImage(mixed),)))
    assert isinstance(said.stopped, UnknownRegister)
    assert [frame.pc for frame in said.frames] == [0x1010, 0x1020]


def test_the_frame_record_is_asked_for_at_the_link_time_address() -> None:
    at = linked_frames(ARM32, THUMB_R7, pc=0x5_1010)
    moved = LoadedImage(built_with(ARM32, THUMB_R7), bias=0x5_0000)
    assert pcs(Snapshot(ARM32, at.registers, at.memory, (moved,)), "fp_chain")[1] == 0x1020


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_code_outside_all_images_is_taken_for_the_default_layout(arch: Arch) -> None:
    at = linked_frames(arch, arch.isas[0].records[0])
    assert pcs(Snapshot(arch, at.registers, at.memory, ()), "fp_chain") == [0x1010, *BOTH]


def test_the_thumb_bit_is_no_part_of_an_address() -> None:
    assert pcs(linked_frames(ARM32, ARM32.isas[1].records[0], lr=0x1045), "qi_stack_frame")[1] == 0x1044


def test_nothing_mapped_at_sp_ends_glibcs_walk_with_a_reason() -> None:
    values = {register.name: 0 for register in X86_64.registers} | {"rip": START, "rsp": 0x10, "rbp": 0x20}
    said = UNWINDERS["glibc_backtrace_fp"].unwind(snapshot(X86_64, values))
    assert isinstance(said.stopped, UnreadableMemory)


# The row of a function's first instruction


@EVERY_RECORD
@pytest.mark.parametrize("bias", [0, 0x5_0000])
def test_the_entry_row_is_for_an_interrupted_frame_at_a_functions_first_instruction(
    arch: Arch, record: FrameRecord, bias: int
) -> None:
    """A fourth function has just been called: nothing of its own is on the stack but the call."""
    frames = linked_frames(arch, record)
    values, stack = {**frames.registers, arch.pc: START + bias}, frames.memory.read(STACK, ABOVE * arch.word)
    values |= {arch.link: 0x1010} if arch.link else {arch.sp: STACK - arch.word}
    pushed = b"" if arch.link else words(arch, 0x1010)
    at = snapshot(
        arch,
        values,
        [(STACK - len(pushed), pushed + stack)],
        {*frames.images, LoadedImage(frames.images[0].image, bias)},
    )
    said = UNWINDERS["fp_chain_entry"].unwind(at)
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START + bias, 0x1010, *BOTH])
    assert (said.frames[0].cfa, said.frames[1].registers[arch.sp]) == (STACK, STACK)
    assert said.frames[1].registers[record.pointer] == at.registers[record.pointer]
    assert pcs(at, "fp_chain") == [START + bias, *BOTH], "the chain skips the caller"
    later = Snapshot(arch, {**values, arch.pc: START + bias + 4}, at.memory, at.images)
    assert pcs(later, "fp_chain_entry") == [START + bias + 4, *BOTH]


@EVERY_RECORD
def test_the_entry_row_is_for_no_caller(arch: Arch, record: FrameRecord) -> None:
    """A return address equal to a function's address follows a call that does not return, at the end of another."""
    at, made = linked_frames(arch, record), built_with(arch, record)
    symbols = (Symbol("f", START, 0x1020 - START, True), Symbol("g", 0x1020, 0x100, True))
    named = Image(made.path, arch, START, made.segments, {}, symbols, made.isa_marks, made.frame_records)
    said = UNWINDERS["fp_chain_entry"].unwind(Snapshot(arch, at.registers, at.memory, (LoadedImage(named),)))
    assert [frame.pc for frame in said.frames] == [0x1010, *BOTH]
    assert said.frames[2].found_by == f"frame record {record.name}"


# lr_leaf: three functions of 0x20 bytes from 0x1000; the record at FP leads to the second one's caller, the first


@pytest.mark.parametrize("arch", [ARM64, ARM32], ids=str)
@pytest.mark.parametrize(
    ("link", "callers"),
    [
        (0x1028, [0x1028, 0x1010]),
        (0x1060, [0x1010]),  # behind a call at the end of the interrupted function: stale
        (0x1044, [0x1010]),
        (0x1010, [0x1010]),  # already the chain's
        (0x9999, [0x1010]),  # in no function
    ],
)
def test_lr_leaf_believes_a_link_register_that_names_another_function(
    arch: Arch, link: int, callers: list[int]
) -> None:
    made = image(arch, symbols=tuple(Symbol(name, START + 0x20 * i, 0x20, True) for i, name in enumerate("abc")))
    at = with_records(arch, arch.isas[0].records[0], {FIRST: (0, 0x1010)}, pc=0x1040, **{str(arch.link): link})
    assert pcs(Snapshot(arch, at.registers, at.memory, (LoadedImage(made),)), "lr_leaf") == [0x1040, *callers]


# What compilers make of the builtin

LEVELS_IN_C = """\
// summary: stores what __builtin_return_address gives at three levels
// exit: 7
// frames: main = main, _start
typedef __UINTPTR_TYPE__ word;
volatile word levels[3];
__attribute__((noinline)) void log_levels(void) {
    levels[0] = (word)__builtin_extract_return_addr(__builtin_return_address(0));
    levels[1] = (word)__builtin_return_address(1);
    levels[2] = (word)__builtin_return_address(2);
    __asm__ volatile("");
}
__attribute__((noinline)) int middle(int x) { log_levels(); return x + 1; }
__attribute__((noinline)) int outer(int x) { return middle(x) + 1; }
int main(void) { return outer(4) + 1; }
"""


@pytest.mark.parametrize(
    ("arch", "recipe"),
    [("x86_64", "clang-O1-fp"), ("arm64", "clang-O1-fp"), ("arm32", "clang-O1-fp"), ("arm32", "clang-thumb-O1-fp")],
)
def test_the_levels_are_what_compiled_code_gives(tmp_path: Path, arch: str, recipe: str) -> None:
    """The unwinder inside the function that asks finds what the program itself has stored there."""
    source = tmp_path / "levels.c"
    source.write_text(LEVELS_IN_C)
    run = named_run({}, str(source), arch, recipe, seed=1, budget=1000, fresh=False)
    symbol = run.built.image.symbol_named("levels")
    assert run.failure == "" and symbol is not None
    word = run.arch.word
    step = next(k for k in run.steps_in("log_levels") if run.trace.memory(k).unsigned(symbol.address + 2 * word, word))
    memory = run.trace.memory(step)
    stored = [run.arch.code_address(memory.unsigned(symbol.address + i * word, word)) for i in range(3)]
    assert pcs(run[step], "builtin_return_address")[1:4] == stored
    assert list(run.truth(step).pcs[1:4]) == stored


# The shadow call stack: read downwards to its zero word.

SHADOW = 0x9000


# entries, the callers, why it stops
SHADOWED: list[tuple[list[int], list[int], type[Exception] | None]] = [
    ([0, 0x1030, 0x1020], [0x1020, 0x1030], None),  # innermost last
    ([0x1030, 0x1020], [0x1020, 0x1030], UnreadableMemory),  # without its zero word
    ([0x1020] * 2000, [0x1020] * (MAX_FRAMES - 1), NoProgress),  # it is bounded
]


@pytest.mark.parametrize(("entries", "callers", "stop"), SHADOWED)
def test_the_entries_are_the_callers(entries: list[int], callers: list[int], stop: type[Exception] | None) -> None:
    values = {register.name: 0x7000 for register in ARM64.registers} | {"pc": 0x1010}
    values["x18"] = SHADOW + 8 * len(entries)
    said = SHADOW_CALL_STACK.unwind(snapshot(ARM64, values, [(SHADOW, words(ARM64, *entries))]))
    assert [frame.pc for frame in said.frames] == [0x1010, *callers]
    assert said.stopped is None if stop is None else type(said.stopped) is stop
    assert said.stopped is None or said.stopped.pc == said.frames[-1].pc
    assert dict(said.frames[1].registers) == {"pc": 0x1020}
    assert said.frames[1].found_by == f"shadow stack, at {values['x18'] - 8:#x}"
