"""The loggers that people use: every quirk is theirs, and stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.arch import ARCHES, Arch, FrameRecord
from testbed.build.recipes import RECIPES
from testbed.image import LoadedImage, Symbol
from testbed.runs.by_name import named_run
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnreadableMemory
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, image, snapshot, u, words
from tests.unwinders.records import RECORDS, STACK, built_with, linked_frames
from unwinders import UNWINDERS
from unwinders.chains.bs_backtrace import BS_BACKTRACE
from unwinders.chains.builtin_return_address import BUILTIN_RETURN_ADDRESS, LEVELS
from unwinders.chains.glibc_backtrace_fp import GLIBC_BACKTRACE_FP
from unwinders.chains.lr_leaf import LR_LEAF
from unwinders.chains.qi_stack_frame import MOST_FRAMES, QI_STACK_FRAME

EVERY_RECORD = pytest.mark.parametrize(("arch", "record"), RECORDS)


def pcs(at: Snapshot, name: str) -> list[int]:
    return [frame.pc for frame in UNWINDERS[name].unwind(at).frames]


def with_link(arch: Arch, record: FrameRecord, value: int) -> Snapshot:
    """Linked frames whose link register, where there is one, holds ``value``."""
    return linked_frames(arch, record, **({arch.link: value} if arch.link else {}))


@EVERY_RECORD
def test_qi_lists_the_link_register_whatever_it_holds(arch: Arch, record: FrameRecord) -> None:
    link = [0x1044] if arch.link else []
    assert pcs(with_link(arch, record, 0x1044), "qi_stack_frame") == [0x1010, *link, 0x1020, 0x1030]


@EVERY_RECORD
def test_a_link_register_of_zero_is_not_listed(arch: Arch, record: FrameRecord) -> None:
    assert pcs(with_link(arch, record, 0), "qi_stack_frame") == [0x1010, 0x1020, 0x1030]
    assert pcs(with_link(arch, record, 0), "bs_backtrace") == [0x1010, 0x1020]


@EVERY_RECORD
def test_bs_loses_the_outermost_return_address(arch: Arch, record: FrameRecord) -> None:
    link = [0x1044] if arch.link else []
    said = BS_BACKTRACE.unwind(with_link(arch, record, 0x1044))
    assert [frame.pc for frame in said.frames] == [0x1010, *link, 0x1020]
    assert said.stopped is None, "its list ends as any other does"


@EVERY_RECORD
def test_bs_gives_no_list_without_a_frame_pointer_and_qi_does(arch: Arch, record: FrameRecord) -> None:
    for value, why in ((0, NoUnwindInfo), (0x666, UnreadableMemory)):
        at = linked_frames(arch, record, **{record.pointer: value})
        said = BS_BACKTRACE.unwind(at)
        assert (type(said.stopped), len(said.frames)) == (why, 1)
        assert said.stopped is not None
        assert said.stopped.pc == 0x1010
        assert QI_STACK_FRAME.unwind(at).stopped is None


@EVERY_RECORD
def test_the_builtin_dereferences_the_zero_that_ends_the_chain(arch: Arch, record: FrameRecord) -> None:
    said = BUILTIN_RETURN_ADDRESS.unwind(linked_frames(arch, record))
    assert [frame.pc for frame in said.frames] == [0x1010, 0x1020, 0x1030]
    assert [frame.found_by for frame in said.frames[1:]] == ["level 0", "level 1"]
    assert isinstance(said.stopped, UnreadableMemory)


@EVERY_RECORD
def test_glibc_ends_silently_at_a_pointer_out_of_bounds(arch: Arch, record: FrameRecord) -> None:
    assert pcs(linked_frames(arch, record), "glibc_backtrace_fp") == [0x1010, 0x1020, 0x1030]
    end = STACK + 40 * arch.word
    for outside in (STACK - arch.word, end, 0):
        said = GLIBC_BACKTRACE_FP.unwind(linked_frames(arch, record, **{record.pointer: outside}))
        assert (said.stopped, len(said.frames)) == (None, 1), hex(outside)


@EVERY_RECORD
def test_a_chain_that_goes_on_for_ever_is_cut(arch: Arch, record: FrameRecord) -> None:
    """A record that leads to itself: no logger checks for that, each has a number of its own."""
    stack = bytearray(40 * arch.word)
    at = STACK + 4 * arch.word
    for offset, value in ((record.saved_pointer, at), (record.return_address, 0x1020)):
        start = at + offset - STACK
        stack[start : start + arch.word] = u(arch.word, value)
    values = {register.name: 0 for register in arch.registers} | {arch.pc: 0x1010, arch.sp: STACK, record.pointer: at}
    loop = snapshot(arch, values, [(STACK, bytes(stack))], [LoadedImage(built_with(arch, record))])
    assert len(pcs(loop, "qi_stack_frame")) == MOST_FRAMES
    assert len(pcs(loop, "bs_backtrace")) == MOST_FRAMES
    assert len(pcs(loop, "builtin_return_address")) == LEVELS + 1
    assert len(pcs(loop, "glibc_backtrace_fp")) == 1024


@EVERY_RECORD
def test_loggers_claim_addresses_and_no_other_register(arch: Arch, record: FrameRecord) -> None:
    for name in ("qi_stack_frame", "bs_backtrace", "builtin_return_address", "glibc_backtrace_fp"):
        for frame in UNWINDERS[name].unwind(linked_frames(arch, record)).frames[1:]:
            assert (dict(frame.registers), frame.cfa) == ({arch.pc: frame.pc}, None)


def test_the_thumb_bit_is_no_part_of_the_address() -> None:
    at = linked_frames(ARM32, ARM32.isas[1].records[0], lr=0x1045)
    assert pcs(at, "qi_stack_frame")[1] == 0x1044


def test_nothing_mapped_at_sp_ends_glibcs_walk_with_a_reason() -> None:
    values = {register.name: 0 for register in X86_64.registers} | {"rip": START, "rsp": 0x10, "rbp": 0x20}
    said = GLIBC_BACKTRACE_FP.unwind(snapshot(X86_64, values))
    assert isinstance(said.stopped, UnreadableMemory)


# lr_leaf


def leaf_of(arch: Arch, link: int, pc: int = 0x1040) -> list[int]:
    """Three functions of 0x20 bytes from 0x1000; the record at FP leads to the second one's caller, the first."""
    symbols = tuple(Symbol(name, START + 0x20 * i, 0x20, True) for i, name in enumerate("abc"))
    isa = arch.isas[0]
    record = isa.records[0]
    stack = words(arch, *([0] * 16))
    at = STACK + 4 * arch.word
    content = bytearray(stack)
    for offset, value in ((record.saved_pointer, 0), (record.return_address, 0x1010)):
        content[at + offset - STACK : at + offset - STACK + arch.word] = u(arch.word, value)
    values = {register.name: 0 for register in arch.registers}
    values |= {arch.pc: pc, arch.sp: STACK, record.pointer: at, arch.link or "": link}
    made = image(arch, symbols=symbols)
    return pcs(snapshot(arch, values, [(STACK, bytes(content))], [LoadedImage(made)]), "lr_leaf")


@pytest.mark.parametrize("arch", [ARM64, ARM32], ids=str)
def test_lr_leaf_believes_a_link_register_that_names_another_function(arch: Arch) -> None:
    assert leaf_of(arch, 0x1028) == [0x1040, 0x1028, 0x1010]
    assert leaf_of(arch, 0x1060) == [0x1040, 0x1010], "behind a call at the end of the interrupted function: stale"
    assert leaf_of(arch, 0x1044) == [0x1040, 0x1010]
    assert leaf_of(arch, 0x1010) == [0x1040, 0x1010], "already the chain's"
    assert leaf_of(arch, 0x9999) == [0x1040, 0x1010], "in no function"


def test_lr_leaf_exists_where_there_is_a_link_register() -> None:
    assert LR_LEAF.arches == {arch.name for arch in ARCHES.values() if arch.link}


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
    """The strategy inside the function that asks finds what the program itself has stored there."""
    assert recipe in RECIPES
    source = tmp_path / "levels.c"
    source.write_text(LEVELS_IN_C)
    run = named_run({}, str(source), arch, recipe, seed=1, budget=1000, fresh=False)
    assert run.failure == ""
    symbol = run.built.image.symbol_named("levels")
    assert symbol is not None
    word = run.arch.word
    step = next(k for k in run.steps_in("log_levels") if run.trace.memory(k).unsigned(symbol.address + 2 * word, word))
    memory = run.trace.memory(step)
    stored = [run.arch.code_address(memory.unsigned(symbol.address + i * word, word)) for i in range(3)]
    said = BUILTIN_RETURN_ADDRESS.unwind(run[step])
    assert [frame.pc for frame in said.frames[1:4]] == stored
    assert list(run.truth(step).pcs[1:4]) == stored
