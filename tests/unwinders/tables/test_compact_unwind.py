"""The strategy over `__unwind_info`: what it says from frame to frame, and what it leaves to DWARF."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.contract.frames import Backtrace
from testbed.image import Image, LoadedImage
from testbed.runs.judging import judge_all
from testbed.runs.run import run_program
from testbed.words.errors import NoUnwindInfo, UnknownRegister
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from tests.unwinders.compact import (
    CODE,
    FRAME,
    SECTION,
    image_of,
    image_with,
    regular,
    section,
)
from tests.unwinders.compact_parts import LEAF, SAVING, at_cfa
from tests.unwinders.frames import ARM64, START, X86_64, image, snapshot, words
from unwinders.formats.compact_unwind import compact_table
from unwinders.tables.compact_unwind import COMPACT_UNWIND

STACK = 0x7_0000


def walked(arch: Arch, made: Image, stack: bytes, pc: int, bias: int = 0, **registers: int) -> Backtrace:
    values = {register.name: 0x7000 for register in arch.registers} | {arch.pc: pc + bias, arch.sp: STACK}
    return COMPACT_UNWIND.unwind(snapshot(arch, values | registers, [(STACK, stack)], [LoadedImage(made, bias)]))


def test_a_frameless_leaf_returns_by_its_link_register_a_frame_by_memory() -> None:
    """Slid: the table is in link-time addresses. The outermost frame's return address is zero."""
    made = image_with(ARM64, section([(START, regular([(START, LEAF), (START + 0x20, SAVING)]))], START + 0x100))
    bias = 0x500_0000
    frame = STACK + 0x30
    stack = words(ARM64, 0, 0, 0, 0, 20, 19, 0, 0)  # 16 bytes of leaf, then x20, x19 below the frame record
    said = walked(ARM64, made, stack, CODE + 8, bias, x30=CODE + 0x28 + bias, x29=frame)
    assert (said.stopped, [f.pc - bias for f in said.frames]) == (None, [CODE + 8, CODE + 0x28])
    assert said.frames[0].cfa == STACK + 16
    assert said.frames[1].found_by.startswith(SECTION)
    assert said.frames[1].cfa == frame + 16


def test_a_caller_that_kept_its_return_address_in_the_link_register_stops() -> None:
    """A frameless function that called another has lost x30: the encoding cannot say where it is."""
    made = image_of(ARM64, LEAF)
    said = walked(ARM64, made, bytes(64), CODE + 8, x30=CODE + 0x28)
    assert isinstance(said.stopped, UnknownRegister)
    assert len(said.frames) == 2


def test_a_caller_is_looked_up_inside_its_call() -> None:
    """The call is the last instruction of the first function: its return address is already the next one's."""
    functions = [(START, 0x0201_0000), (START + 0x20, 0x0203_0000)]
    made = image_with(X86_64, section([(START, regular(functions))], START + 0x100))
    said = walked(X86_64, made, words(X86_64, CODE + 0x20, CODE + 0x20, 0), CODE)
    assert (said.stopped, [f.pc for f in said.frames]) == (None, [CODE, CODE + 0x20, CODE + 0x20])


def test_it_stops_where_nothing_is_known() -> None:
    said = walked(ARM64, image_of(ARM64, 0), bytes(64), CODE)
    assert isinstance(said.stopped, NoUnwindInfo)
    assert "__unwind_info says nothing about 0x401000" in str(said.stopped)
    assert isinstance(walked(ARM64, image_of(ARM64, LEAF), bytes(64), 0x99).stopped, NoUnwindInfo)


@pytest.mark.parametrize("program", ["struct_return", "big_frame", "alloca_vla"])
@pytest.mark.parametrize(
    ("arch", "recipe"),
    [("arm64", "macho-O0"), ("arm64", "macho-O2"), ("x86_64", "macho-O0"), ("x86_64", "macho-O2-nofp")],
)
def test_a_compact_encoding_is_exact_outside_the_innermost_prologue_and_epilogue(
    program: str, arch: str, recipe: str
) -> None:
    """In callers always: they stand at a call. Slid, with every callee-saved register planted."""
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    by_place: dict[bool, set[Outcome]] = {False: set(), True: set()}
    for step, verdict in enumerate(judge_all(run, COMPACT_UNWIND)):
        by_place[bool(run.words(step) & {Trait.PROLOGUE, Trait.EPILOGUE})].add(verdict.outcome)
    assert by_place[False] == {Outcome.EXACT}
    assert by_place[True] - {Outcome.EXACT}, "else there would be nothing to declare"


def test_registers_that_a_frameless_leaf_saved_are_where_its_code_put_them() -> None:
    """Where LLVM's libunwind is one word off: the truth of the run decides."""
    run = run_program(PROGRAMS["busy_leaf"], ARCHES["arm64"], "macho-O2")
    steps = run.steps_in("busy")
    at = run[steps[len(steps) // 2]]
    row = compact_table(run.loaded.image).at(at.pc - run.loaded.bias)
    assert row is not None
    assert row.registers == at_cfa(x19=-8, x20=-16, x21=-24, x22=-32)
    said, true = COMPACT_UNWIND.unwind(at).frames[1].registers, run.truth(at).frames[1].registers
    for name in row.registers:
        assert said[name] == true[name] != at.registers[name], name


def test_with_rows_for_epilogues_it_defers_to_dwarf_and_is_exact_everywhere() -> None:
    run = run_program(PROGRAMS["struct_return"], ARCHES["arm64"], "macho-O2-dwarf")
    assert {verdict.outcome for verdict in judge_all(run, COMPACT_UNWIND)} == {Outcome.EXACT}
    main = run.loaded.image.symbol_named("main")
    assert main is not None
    row = compact_table(run.loaded.image).at(main.address)
    assert row is not None and row.found_by.startswith(FRAME)


def test_it_exists_for_mach_o_files() -> None:
    assert COMPACT_UNWIND.applies_to(image_of(ARM64, LEAF))
    assert not COMPACT_UNWIND.applies_to(image(ARM64))
    assert COMPACT_UNWIND.rows is not None
    assert len(COMPACT_UNWIND.rows(image_of(ARM64, LEAF))) == 1
