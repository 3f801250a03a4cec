"""`debug_frame`: exact wherever the section is right; and the proof that where it is not, LLVM wrote it so."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import build
from testbed.build.recipes import RECIPES, Recipe, Tool
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.assumption import CFA, REGISTER
from testbed.contract.rows import RegisterPlus
from testbed.image import LoadedImage
from testbed.program.model import Language
from testbed.runs.judging import judge, judge_all
from testbed.runs.run import run_built, run_program
from testbed.trace import Snapshot
from testbed.verdicts.assumptions.along import Accord
from testbed.words.errors import MalformedTable, NoUnwindInfo
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from tests.unwinders.frames import ARM32, SIZE, START, X86_64, cie, fde, image, snapshot, words
from unwinders import UNWINDERS
from unwinders.formats.cfi import cfi_table
from unwinders.tables.debug_frame import DEBUG_FRAME

STACK = 0x8000
DEF_CFA = b"\x0c\x07\x08\x90\x01"  # CFA = rsp + 8, return address below it

WITH_TABLES = [recipe for recipe in RECIPES.values() if "-fno-unwind-tables" not in recipe.flags]
ON_ARM32 = units(PROGRAMS.values(), [ARM32], WITH_TABLES)
COMPILED = [unit for unit in ON_ARM32 if RECIPES[unit.recipe].tool is Tool.CLANG]
ASSEMBLED = [unit for unit in ON_ARM32 if RECIPES[unit.recipe].tool.takes is Language.ASSEMBLY]

BOTH_SECTIONS = Recipe(
    name="clang-O1-debug-frame",
    summary="both sections, with a row for every instruction that moves the frame",
    tool=Tool.CLANG,
    flags=("-O1", "-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-fforce-dwarf-frame"),
)


def calling(section: bytes, *stack: int, pc: int = START, bias: int = 0) -> Snapshot:
    values = {register.name: 0x7000 for register in X86_64.registers} | {"rip": pc + bias, "rsp": STACK}
    made = image(X86_64, _debug_frame=(0, section))
    return snapshot(X86_64, values, [(STACK, words(X86_64, *stack))], [LoadedImage(made, bias)])


def test_the_row_of_the_pc_is_applied_in_link_time_addresses() -> None:
    section = cie(DEF_CFA) + fde(b"\x41\x0e\x10")
    said = DEBUG_FRAME.unwind(calling(section, 0x7, 0x5_1018, 0x8, 0, pc=START + 1, bias=0x5_0000))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [0x5_1001, 0x5_1018])
    assert said.frames[1].found_by.startswith(".debug_frame+0x")
    assert said.frames[0].cfa == STACK + 16


def test_it_stops_where_no_fde_covers_the_pc() -> None:
    said = DEBUG_FRAME.unwind(calling(cie(DEF_CFA) + fde(), 0x1018, pc=START + SIZE))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert ".debug_frame" in str(said.stopped)


def test_a_broken_section_is_a_typed_stop() -> None:
    said = DEBUG_FRAME.unwind(calling(cie(DEF_CFA) + fde(b"\x3f"), 0x1018))
    assert isinstance(said.stopped, MalformedTable)
    assert said.stopped.section == ".debug_frame"


def test_an_fde_of_removed_code_is_left_out() -> None:
    """After --gc-sections the pcs of dropped functions are 0: such an FDE must not claim the first pages."""
    section = cie(DEF_CFA) + fde(start=0, size=0x10_0000)
    said = DEBUG_FRAME.unwind(calling(section, 0x1018))
    assert isinstance(said.stopped, NoUnwindInfo)


def test_it_exists_where_the_section_does() -> None:
    assert DEBUG_FRAME.applies_to(image(X86_64, _debug_frame=(0, b"")))
    assert not DEBUG_FRAME.applies_to(image(X86_64, _eh_frame=(0, b"")))


@pytest.mark.parametrize("unit", ASSEMBLED, ids=str)
def test_sources_that_say_it_all_have_a_right_row_for_every_instruction(unit: Unit) -> None:
    """Hand-written A32 and Thumb: the row is there, and no CFA or register of it is wrong, unless a header says so."""
    run = run_program(PROGRAMS[unit.program], ARM32, unit.recipe)
    verdicts = judge_all(run, DEBUG_FRAME)
    assert len(verdicts) == len(run) > 0
    header = run.built.source.header
    failing = {verdict.clause for verdict in verdicts if not verdict.transition}
    assert header.wrong or not failing & {CFA.name, REGISTER.name}


@pytest.mark.parametrize("unit", COMPILED, ids=str)
def test_the_compilers_arm_tables_end_with_the_row_of_the_whole_frame(unit: Unit) -> None:
    """The named defect: no FDE ever comes back to CFA = sp, which is true at every `bx lr`."""
    built = build(PROGRAMS[unit.program], ARM32, RECIPES[unit.recipe])
    framed = 0
    by_fde: dict[str, list[object]] = {}
    for row in cfi_table(built.image, ".debug_frame"):
        by_fde.setdefault(row.found_by, []).append(row.cfa)
    for first, *others in by_fde.values():
        assert first == RegisterPlus("sp", 0)
        assert RegisterPlus("sp", 0) not in others, "LLVM writes epilogue rows now: say so"
        framed += bool(others)
    assert framed, "no function of this file has a frame"


@pytest.mark.parametrize("arch", [arch for arch in ARCHES.values() if arch is not ARM32], ids=str)
@pytest.mark.parametrize("program", ["alloca_vla", "big_frame", "switch_table", "recursion", "struct_return"])
def test_exact_at_every_site_where_the_compiler_says_it_all(program: str, arch: Arch) -> None:
    run = run_built(build(PROGRAMS[program], arch, BOTH_SECTIONS))
    assert not run.failure
    assert DEBUG_FRAME.applies_to(run.built.image)
    root = run.built.image.symbol_named("_start")
    assert root is not None
    claimed = 0
    for step in range(len(run)):
        said, truth = DEBUG_FRAME.unwind(run[step]), run.truth(step)
        assert [frame.pc for frame in said.frames] == list(truth.pcs)
        # The start code is assembled, and has .eh_frame only: there the walk ends, with every frame found.
        assert isinstance(said.stopped, NoUnwindInfo)
        assert said.stopped.pc is not None
        assert root.address <= said.stopped.pc < root.address + root.size
        assert judge(run, step, said).depth == len(truth)
        claimed += len(truth) - 1
    assert claimed > len(run)


def test_between_the_two_halves_of_a_frame_the_row_counts_neither() -> None:
    """`sub sp, sp, #56; sub sp, sp, #20480`: one row for both, after the second."""
    run = run_program(PROGRAMS["big_frame"], ARM32, "clang-O1")
    function = run.built.image.symbol_named("big")
    assert function is not None
    step = next(s for s in run.steps_in("big") if "#0x5000" in run.instruction(s))
    assert run.instruction(step - 1).startswith("sub sp, sp, #")
    assert Trait.PROLOGUE in run.words(step)
    verdict = judge(run, step, DEBUG_FRAME.unwind(run[step]), DEBUG_FRAME)
    assert verdict.outcome is Outcome.ENDED_EARLY
    assert verdict.accord is Accord.FAILS
    for neighbour in (step - 1, step + 1):
        assert judge(run, neighbour, DEBUG_FRAME.unwind(run[neighbour])).exact


def test_it_is_in_the_catalogue() -> None:
    assert UNWINDERS["debug_frame"] is DEBUG_FRAME
    assert DEBUG_FRAME.rows is not None
    assert len(DEBUG_FRAME.rows(image(X86_64, _debug_frame=(0, cie(DEF_CFA) + fde())))) == 1
