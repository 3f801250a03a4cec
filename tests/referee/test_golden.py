"""Golden counts of real tools, at every instruction and where registers are missing."""

from __future__ import annotations

from functools import cache

import pytest

import testbed
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.kept_answers import answers_at
from testbed.campaign.results import Cell, Unit
from testbed.campaign.sampled import cell_at
from testbed.campaign.units import run_unit, units
from testbed.contract.unwinder import Unwinder
from testbed.conventions import platform
from testbed.referee import REFEREES, present
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.words.errors import ToolchainMissing
from tests.golden import REFEREES as GOLDEN
from tests.golden import (
    STRATEGIES,
    UPDATE_REFEREES,
    Counts,
    counted,
    of_unit,
    tools_of_set,
    write_program,
    write_tools,
)
from tests.installed import tools_of
from tests.unwinders.missing import lacking, says_less


def version(unwinder: Unwinder) -> str:
    """What a tool says that it is, without the folders in which its parts lie here."""
    told = unwinder.tool() if unwinder.tool else ""
    return "; ".join(sorted({part.partition(" (")[0] for part in told.split("; ")}))


# Hand-written and compiled; leaves, tail calls, signals; tables that are wrong and missing; all formats.
PROGRAMS_COUNTED = (
    "leaf_call",
    "tail_call",
    "late_push_wrong",
    "no_table",
    "signal",
    "callee_pops",
    "inlined_call",
    "struct_return",
)
QUICK = PROGRAMS_COUNTED[:2]  # the others take minutes where nothing is kept yet: pytest --everything
RECIPES_COUNTED = ("keystone", "keystone-thumb", "clang-O0", "clang-thumb-O2", "macho-O2", "macho-O2-dwarf")
UNITS = units(
    [PROGRAMS[name] for name in PROGRAMS_COUNTED], ARCHES.values(), [RECIPES[name] for name in RECIPES_COUNTED]
)


def strategies() -> dict[str, Unwinder]:
    """The strategies of the tools that are installed, by name."""
    return {
        unwinder.name: unwinder
        for referee in REFEREES.values()
        if referee.find() is not None
        for unwinder in referee.unwinders
    }


def cells(unit: Unit) -> dict[str, Cell]:
    """Every installed tool judged at every step of a unit: what it says is kept, and asked for anew when it changes."""
    try:
        run = run_unit(unit, PROGRAMS)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    asked = {name: each for name, each in strategies().items() if each.applies_to(run.built.image)}
    return {name: cell_at(run, each, range(len(run))) for name, each in asked.items()}


@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.everything]) for name in PROGRAMS_COUNTED],
)
def test_a_real_unwinder_is_right_where_it_was(program: str, request: pytest.FixtureRequest) -> None:
    planned = [unit for unit in UNITS if unit.program == program]
    judged = {unit: cells(unit) for unit in planned}
    for cell in (cell for of_one in judged.values() for cell in of_one.values()):
        assert cell.sites > 0, cell
    tools = tools_of_set(GOLDEN)
    here = {name: version(each) for name, each in strategies().items()}
    if request.config.getoption("--update-golden"):
        now: dict[Unit, dict[str, Counts]] = {
            unit: {**of_unit(GOLDEN, unit), **{name: counted(cell) for name, cell in of_one.items()}}
            for unit, of_one in judged.items()
        }
        write_program(GOLDEN, program, {unit: dict(sorted(counts.items())) for unit, counts in now.items()})
        write_tools(GOLDEN, dict(sorted({**tools, **here}.items())))
        return
    same = {name for name, told in here.items() if tools.get(name) == told}
    compared = 0
    for unit, of_one in judged.items():
        for name in same & of_unit(GOLDEN, unit).keys() | same & of_one.keys():
            assert name in of_one and name in of_unit(GOLDEN, unit), f"{unit}-{name}: {UPDATE_REFEREES}"
            assert counted(of_one[name]) == of_unit(GOLDEN, unit)[name], f"{unit}-{name}: {UPDATE_REFEREES}"
            compared += 1
    if not compared:
        pytest.skip(f"the golden counts are of {tools}, here are {here}")


def test_every_real_unwinder_is_counted() -> None:
    there = {name for unit in UNITS for name in of_unit(GOLDEN, unit)}
    assert there == {unwinder.name for referee in REFEREES.values() for unwinder in referee.unwinders}
    assert there == tools_of_set(GOLDEN).keys()


# Real unwinders beyond the eight instructions of a unit that the pages ask about.
#
# `PINNED` are sites at which a tool was asked for the first time when all of a unit's instructions were: how each came
# out was looked into, in the tool's sources or by hand.


# The strategy, the unit, where, the outcome. "A,B": A is asked about first, since the tool remembers it.
PINNED = tuple(
    line.split()
    for line in """
gdb                           moved_return                  x86_64 keystone           helper+0x3          stopped
gdb                           moved_return                  arm64  clang-asm          helper              stopped
gdb_exidx                     moved_return                  arm32  clang-asm          moves+0x10          wrong_register
gdb_exidx                     genc_fv1c1_f8r3a1n            arm32  clang-thumb-O2     f0                  wrong_register
gdb_exidx                     kept_in_register              arm32  keystone           saver+0x18          ended_early
gdb_exidx                     genc_f40o128t1_f              arm32  clang-thumb-O2     f0+0x32             refused
gdb_exidx                     pointer_reused                arm32  clang-asm-thumb    over_local+0x1e     phantom
gdb_exidx                     raise                         arm32  clang-asm          body+0x14           phantom
gdb_exidx                     raise                         arm32  keystone-thumb     body+0xc            wrong_register
gdb_exidx                     landing_pad                   arm32  keystone           catcher+0x24        skipped
gdb_exidx                     landing_pad                   arm32  clang-asm-thumb    thrower+0x6         skipped
gdb_exidx                     profiled                      arm32  profiled-O2        __gnu_mcount_nc+0x4 wrong
gdb_no_tables                 moved_return                  arm32  clang-asm          moves+0x10          wrong_register
gdb_no_tables                 moved_return                  arm64  clang-asm          moves+0xc           wrong_register
gdb_no_tables                 moved_return                  arm32  clang-asm-thumb    moves+0x16          phantom
gdb_no_tables                 kept_in_register              arm32  keystone           saver+0x18          ended_early
gdb_no_tables                 pointer_reused                arm32  clang-asm-thumb    over_local+0x1e     phantom
gdb_no_tables                 raise                         arm32  clang-asm          body+0x10           wrong
gdb_no_tables                 raise                         arm32  clang-asm          @20                 wrong_register
gdb_no_tables                 landing_pad                   arm32  keystone           @26                 skipped
gdb_no_tables                 null_call                     arm32  keystone-thumb     on_fault,leaving    wrong_register
gdb_no_tables                 hoisted_add                   arm64  clang-asm          choose+0x1c         ended_early
gdb_no_tables                 nameless_caller               arm64  keystone           work_end+0x24       skipped
gdb_no_tables                 coroutine                     arm64  keystone           coroutine           phantom
gdb_no_tables                 coroutine_open                x86_64 clang-asm          coroutine           phantom
gdb_no_tables                 other_stack                   x86_64 clang-asm          system+0x12         ended_early
gdb_no_tables                 return_thunk_inline           x86_64 inline-thunk-O0-fp leaf+0x1a           skipped
gdb_no_tables                 longjmp                       x86_64 clang-asm          long_jump+0x1d      skipped
gdb_no_tables                 null_call                     arm32  keystone           @17                 skipped
libdw                         moved_return                  x86_64 keystone           helper              ended_early
libdw                         null_call                     x86_64 clang-asm          @10                 skipped
libunwindstack                longjmp                       x86_64 clang-asm          long_jump+0x1d      skipped
libgcc_backtrace              longjmp                       x86_64 clang-asm          long_jump+0x1d      skipped
libgcc_forced                 gen_14                        arm32  keystone-thumb     f2+0x4c             skipped
llvm_forced                   null_call                     arm32  keystone           @17                 skipped
llvm_forced                   raise                         arm32  keystone-thumb     main                ended_early
glibc_backtrace               signal_no_record              arm32  keystone-thumb     give_back           ended_early
symbolic_debug_frame          early_return                  arm32  keystone           early_return        wrong
glibc_backtrace               pac_ret_wrong                 arm64  clang-asm          helper              crashed
llvm_backtrace                gen_14                        arm32  keystone-thumb     f2+0x4c             ended_early
llvm_backtrace                big_frame                     arm64  clang-O2-fp        big+0x10            phantom
llvm_backtrace                outlined_prologues            arm64  outline-Oz         main+0x8            wrong_register
llvm_backtrace                longjmp                       x86_64 clang-asm          long_jump+0x1d      skipped
llvm_backtrace                record_below                  x86_64 keystone           filler+0x37         skipped
llvm_backtrace                drap                          x86_64 clang-asm          work+0x24           crashed
llvm_backtrace                genc_fa1o32                   x86_64 gcc-O2             f0+0x63             crashed
llvm_libunwind                genc_fa1o32                   x86_64 gcc-O2             f0+0x63             refused
llvm_libunwind                longjmp                       x86_64 clang-asm          long_jump+0x1d      skipped
llvm_libunwind                genc_fv1o128c1_fc2_fc3t3_f8a1 x86_64 clang-Os           @16                 wrong_register
minidump_stackwalk_no_symbols record_replaced               x86_64 keystone           install+0x21        wrong
minidump_stackwalk_no_symbols record_replaced               arm64  clang-asm          raiser+0x18         wrong
nongnu_backtrace_exidx        struct_return                 arm32  gcc-thumb-O2-fp    make+0x3c           wrong
nongnu_backtrace_exidx        early_return                  arm32  keystone           classify+0x28       skipped
nongnu_backtrace_exidx        guarded_return                arm32  clang-thumb-O2     work+0x42           wrong
perf                          genc_fv1o128c1_fc2_fc3t3_f8a1 x86_64 clang-Os           f3+0x5b             ended_early
symbolic                      moved_return                  x86_64 keystone           helper              stopped
symbolic                      genc_17                       arm64  clang-O1-fp        f4+0xc8             ended_early
symbolic_debug_frame          gen_9                         arm32  keystone           f3+0x60             ended_early
symbolic_debug_frame          genc_fa1c1_f4104              arm32  gcc-thumb-O2       f1+0x24             wrong_register
""".strip().splitlines()
)


@cache
def run_of(unit: Unit) -> Run:
    try:
        return run_unit(unit, PROGRAMS)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


def asked(name: str) -> Unwinder:
    found = present([name])
    if name not in found:
        pytest.skip(f"{name} is not installed")
    return found[name]


@pytest.mark.parametrize(
    "pinned", PINNED, ids=lambda line: f"{line[0]}-{line[1]}-{line[2]}-{line[4].replace(',', '-then-')}"
)
def test_a_site_beyond_the_eight_comes_out_as_it_did(pinned: list[str]) -> None:
    name, program, arch, recipe, at, outcome = pinned
    unit, tool = Unit(program, arch, recipe), asked(name)
    run = run_of(unit)
    if RECIPES[recipe].tool.gnu and tools_of(unit) != tools_of_set(STRATEGIES).get(arch):
        pytest.skip(f"another compiler has other instructions: {tools_of(unit)}")
    steps = [run.step_at(place) for place in at.split(",")]
    verdict = judge(run, steps[-1], answers_at(run, tool, steps)[steps[-1]], tool)
    if version(tool) == tools_of_set(GOLDEN).get(name):
        assert verdict.outcome.value == outcome, verdict


# Real unwinders at snapshots that lack registers: they say less than of the whole one, and never see a zero.


UNITS_MISSING_REGISTERS = [
    ("alloca_vla", "x86_64", "clang-O0-fp"),
    ("alloca_vla", "arm64", "clang-O0-fp"),
    ("leaf_call", "arm32", None),
]


@pytest.mark.parametrize(("name", "arch", "recipe"), UNITS_MISSING_REGISTERS, ids=lambda part: str(part))
def test_a_real_unwinder_never_says_more_of_a_snapshot_with_fewer_registers(
    name: str, arch: str, recipe: str | None
) -> None:
    run, its = testbed.run(name, arch=arch, recipe=recipe), ARCHES[arch]
    strategies = [unwinder for unwinder in present().values() if unwinder.applies_to(run.built.image)]
    if not strategies:
        pytest.skip("no real unwinder is installed: testbed list referees")
    snapshot = run[len(run) // 2]
    subsets = [
        its.frame_pointers[:1],
        *([(its.link,)] if its.link else []),
        platform(its).preserved,
        tuple(name for name in its.by_name if name not in (its.pc, its.sp)),
    ]
    for unwinder in strategies:
        whole = unwinder.unwind(snapshot)
        assert len(whole.frames) > 1, unwinder
        for names in subsets:
            part = unwinder.unwind(lacking(snapshot, names))
            assert not says_less(part, whole), f"{unwinder} without {', '.join(names)}: {says_less(part, whole)}"
        assert part.stopped is not None, unwinder
