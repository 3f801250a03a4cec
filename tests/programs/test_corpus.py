"""The corpus: every program does and declares the right thing wherever it is built, and shows what it is about."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed import conventions
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES, Tool, recipes_for
from testbed.image import describe
from testbed.runs.run import Run, run_program
from testbed.truth import disagreements

pytestmark = pytest.mark.whole

MOST_STEPS = 1500

# One unoptimised and one optimised way to compile, with and without frame pointers; both ways to assemble.
CHEAP = (
    *("keystone", "keystone-thumb", "clang-asm", "clang-asm-thumb"),
    *("clang-O0-fp", "clang-O2", "clang-thumb-O0-fp", "clang-thumb-O2"),
    *("macho-O0", "macho-O2"),
    *("gcc-asm", "gcc-asm-thumb", "gcc-O0-fp", "gcc-O2", "gcc-thumb-O2"),
)
CELLS = [
    pytest.param(program.name, arch.name, recipe.name, id=f"{program.name}-{arch}-{recipe.name}")
    for program in PROGRAMS.values()
    for arch in program.arches()
    for recipe in recipes_for(program, arch)
    if recipe.name in CHEAP
]
NATIVE = [  # what Linux loads
    cell
    for cell in CELLS
    if cell.values[1] == "x86_64"
    and RECIPES[str(cell.values[2])].tool is not Tool.CLANG_MACH_O
    and not PROGRAMS[str(cell.values[0])].has_signals  # they come from the emulator
]


@cache
def ran(program: str, arch: str, recipe: str) -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], recipe)


def test_both_a32_frame_records_occur() -> None:
    layouts = {source.header.frame_record for p in PROGRAMS.values() for n, source in p.sources.items() if n == "a32"}
    assert layouts == {None, "r11-gcc"}
    built = {ran(name, "arm32", "clang-asm").built.image for name in ("leaf_call", "tail_call")}
    assert {image.frame_record_at(image.entry).name for image in built} == {"r11-clang", "r11-gcc"}


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_program_exits_as_its_header_says_in_few_steps(program: str, arch: str, recipe: str) -> None:
    run = ran(program, arch, recipe)
    assert run.failure == ""
    assert 10 < len(run) <= MOST_STEPS


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_declared_frames_are_the_watched_ones(program: str, arch: str, recipe: str) -> None:
    run = ran(program, arch, recipe)
    assert disagreements(run.watched, run.built.source.header.frames) == ()


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() != "x86_64", reason="needs Linux on x86_64")
@pytest.mark.parametrize(("program", "arch", "recipe"), NATIVE)
def test_program_exits_the_same_on_a_real_processor(program: str, arch: str, recipe: str, tmp_path: Path) -> None:
    built = build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe])
    file = tmp_path / program
    shutil.copyfile(built.path, file)
    file.chmod(0o755)
    assert subprocess.run([file], timeout=10).returncode == built.source.header.exit


# That each program shows what its summary says

EVERYWHERE = [("x86_64", ""), ("arm64", ""), ("arm32", ""), ("arm32", "-thumb")]


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
def test_callee_saved_clobbers_every_preserved_register_and_gives_all_back(arch: str, isa: str) -> None:
    run = ran("callee_saved", arch, f"clang-asm{isa}")
    keeper, clobber, clobbered = (run.at(label) for label in ("keeper", "clobber", "clobbered"))
    back = run[next(i for i, pc in enumerate(run.trace.pc.tolist()) if pc == run.truth(keeper).frames[1].pc)]
    for name in conventions.platform(run.arch).preserved:
        seen = [s.registers[name] for s in (keeper, clobber, clobbered)]
        assert len(set(seen)) == 3, f"{name} must be clobbered twice: {seen}"
        assert back.registers[name] == keeper.registers[name], f"{name} must come back"


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_noreturn_last_call_has_its_return_address_behind_its_function(arch: str, isa: str, level: str) -> None:
    run = ran("noreturn_last_call", arch, f"clang{isa}-{level}")
    work, image = run.built.image.symbol_named("work"), run.built.image
    assert work is not None
    link = run.truth(run.at("finish")).frames[1].pc
    assert link == work.address + work.size
    assert image.function_at(link - 1) is work
    assert image.function_at(link) is not work


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_switch_table_really_jumps_through_a_table(arch: str, isa: str, level: str) -> None:
    run = ran("switch_table", arch, f"clang{isa}-{level}")
    jumps = re.compile(r"^(jmp\s+(r|qword)|br\s|tb[bh]\s|(add|ldr|mov)(\.w)?\s+pc\b)")
    taken = [step for step in run.steps_in("dispatch") if jumps.match(run.instruction(step))]
    targets = {int(run.trace.pc[step + 1]) for step in taken}
    assert len(targets) >= 6
    assert {describe(run.trace.images, target).partition("+")[0] for target in targets} == {"dispatch"}


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_big_frame_moves_sp_by_more_than_twenty_kibibytes(arch: str, isa: str, level: str) -> None:
    run = ran("big_frame", arch, f"clang{isa}-{level}")
    assert run.at("big").sp - run.at("fill").sp > 20 * 1024


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_alloca_vla_frames_have_a_size_of_their_own_each_time(arch: str, isa: str, level: str) -> None:
    run = ran("alloca_vla", arch, f"clang{isa}-{level}")
    first, second = (run.at(f"fill#{visit}").sp for visit in (1, 2))
    assert first - second >= 4 * 5 * 2, "the second alloca comes on top of the first"


def test_interworking_changes_the_instruction_set_at_each_call() -> None:
    run = ran("interworking", "arm32", "clang-asm")
    labels = ("main_body", "thumb_middle_body", "arm_middle_body", "thumb_leaf_body")
    assert [run.trace.isa(run.step_at(label)).name for label in labels] == ["a32", "thumb", "a32", "thumb"]


def test_early_return_runs_both_ways_out() -> None:
    for arch, isa in EVERYWHERE:
        run = ran("early_return", arch, f"clang-asm{isa}")
        assert run.step_at("early_return") < run.step_at("classify#2") < run.step_at("late_return")
        assert run.at("early_return").sp == run.at("late_return").sp == run.at("classify").sp
