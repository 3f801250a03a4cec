"""Real unwinders beyond the eight instructions of a unit that the pages ask about.

`PINNED` are sites at which a tool was asked for the first time when all of a unit's instructions were: each has the
reason that was found for it, in the tool's sources or by hand. The last test is that search, for the night:

    pytest --everything tests/referee/test_every_instruction.py
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.kept_answers import answers_at
from testbed.campaign.results import Unit
from testbed.campaign.sampled import sampled_steps
from testbed.campaign.units import run_unit, units
from testbed.contract.unwinder import Unwinder
from testbed.referee import present
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.words.errors import ToolchainMissing
from tests.golden import REFEREES, STRATEGIES, tools_of_set
from tests.installed import tools_of
from tests.referee.versions import version

# The strategy, the unit, where, the outcome, the mechanism. "A,B": A is asked about first, since the tool remembers it.
PINNED = tuple(
    line.split()
    for line in """
gdb              moved_return     x86_64 keystone        helper+0x3      stopped        MOVED_UP
gdb              moved_return     arm64  clang-asm       helper          stopped        MOVED_UP
gdb_exidx        moved_return     arm32  clang-asm       moves+0x10      wrong_register BARE+CHANGED+UNLINKED
gdb_exidx genc_fv1c1_f8r3a1n arm32 clang-thumb-O2 f0 wrong_register BARE+PROLOGUE+RETURN_UNSAVED
gdb_exidx        kept_in_register arm32  keystone        saver+0x18      ended_early    CHANGED+HOLDING+UNKEPT
gdb_exidx        genc_f40o128t1_f arm32  clang-thumb-O2  f0+0x32         refused        EPILOGUE
gdb_exidx pointer_reused arm32 clang-asm-thumb over_local+0x1e phantom EPILOGUE+CFA_MOVED+FP_REUSED
gdb_exidx raise arm32 clang-asm body+0x14 phantom FRAMELESS+HOLDING+LINKED_FURTHER+PARTLY_RUN
gdb_exidx raise arm32 keystone-thumb body+0xc wrong_register FRAMELESS+HOLDING+LINKED_FURTHER+PARTLY_RUN
gdb_exidx landing_pad arm32 keystone catcher+0x24 skipped LINKED+FRAME_IN_PART+PASSED_OVER
gdb_exidx landing_pad arm32 clang-asm-thumb thrower+0x6 skipped HOLDING+LINKED_FURTHER+PROLOGUE+SETS_FP_LATE
gdb_exidx        profiled         arm32  profiled-O2     __gnu_mcount_nc+0x4 wrong          WRONG_TABLE
gdb_no_tables    moved_return     arm32  clang-asm       moves+0x10      wrong_register BARE+CHANGED+UNLINKED
gdb_no_tables    moved_return     arm64  clang-asm       moves+0xc       wrong_register BARE+CHANGED+UNLINKED
gdb_no_tables    moved_return     arm32  clang-asm-thumb moves+0x16      phantom        MOVED_UP
gdb_no_tables    kept_in_register arm32  keystone        saver+0x18      ended_early    CHANGED+HOLDING+UNKEPT
gdb_no_tables pointer_reused arm32 clang-asm-thumb over_local+0x1e phantom EPILOGUE+CFA_MOVED+FP_REUSED
gdb_no_tables raise arm32 clang-asm body+0x10 wrong FRAMELESS+HOLDING+LINKED_FURTHER+PARTLY_RUN
gdb_no_tables raise arm32 clang-asm @20 wrong_register LOST_REGISTER+FRAMELESS_CALLER+LINKED_FURTHER_ON
gdb_no_tables landing_pad arm32 keystone @26 skipped LOST_REGISTER+BEHIND_LABEL+LINKED
gdb_no_tables    null_call        arm32  keystone-thumb  on_fault,leaving wrong_register LINKED+BEHIND_LABEL
gdb_no_tables    hoisted_add      arm64  clang-asm       choose+0x1c     ended_early    FRAMELESS+FRAME_ELSEWHERE
gdb_no_tables    nameless_caller  arm64  keystone        work_end+0x24   skipped        NO_TABLE+BEHIND_LABEL
gdb_no_tables    coroutine        arm64  keystone        coroutine       phantom        OTHER_STACK+LINK_OUTSIDE
gdb_no_tables    coroutine_open   x86_64 clang-asm       coroutine       phantom        OTHER_STACK+CODE_POINTER
gdb_no_tables    other_stack      x86_64 clang-asm       system+0x12     ended_early    FP_REUSED
gdb_no_tables return_thunk_inline x86_64 inline-thunk-O0-fp leaf+0x1a skipped LINKED_FURTHER+HOLDING+OTHER_IN_FRONT
gdb_no_tables    longjmp          x86_64 clang-asm       long_jump+0x1d  skipped        LOST_REGISTER+FP_REUSED
gdb_no_tables    null_call        arm32  keystone        @17             skipped        NO_CODE+SIGNAL
libdw            moved_return     x86_64 keystone        helper          ended_early    MOVED_UP+CHANGED+FP_REUSED
libdw            null_call        x86_64 clang-asm       @10             skipped        NO_CODE+FIRST
libunwindstack   longjmp          x86_64 clang-asm       long_jump+0x1d  skipped        LOST_REGISTER+FP_REUSED<1
libgcc_backtrace longjmp          x86_64 clang-asm       long_jump+0x1d  skipped        LOST_REGISTER+FP_REUSED<1
libgcc_forced    gen_14           arm32  keystone-thumb  f2+0x4c         skipped        EPILOGUE+LINKED_FURTHER
llvm_forced      null_call        arm32  keystone        @17             skipped        NO_CODE+SIGNAL
llvm_forced      raise            arm32  keystone-thumb  main            ended_early    FIRST
glibc_backtrace signal_no_record arm32 keystone-thumb give_back ended_early SIGNAL
symbolic_debug_frame early_return arm32 keystone early_return wrong EPILOGUE+FRAME_ELSEWHERE
glibc_backtrace  pac_ret_wrong    arm64  clang-asm       helper          crashed        WRONG_TABLE>1
llvm_backtrace   gen_14           arm32  keystone-thumb  f2+0x4c         ended_early    EPILOGUE+LINKED_FURTHER
llvm_backtrace   big_frame        arm64  clang-O2-fp     big+0x10        phantom        FP_SET<1
llvm_backtrace   outlined_prologues arm64  outline-Oz      main+0x8        wrong_register BEHIND_WRONG
llvm_backtrace   longjmp          x86_64 clang-asm       long_jump+0x1d  skipped        LOST_REGISTER+FP_REUSED<1
llvm_backtrace   record_below     x86_64 keystone        filler+0x37     skipped        ROW_BEGINS+COUNTED_FROM_SP
llvm_backtrace   drap             x86_64 clang-asm       work+0x24       crashed        ROW_BEGINS+REALIGNED<1
llvm_backtrace genc_fa1o32 x86_64 gcc-O2 f0+0x63 crashed REALIGNED+EPILOGUE+UNLINKED
llvm_libunwind genc_fa1o32 x86_64 gcc-O2 f0+0x63 refused REALIGNED+EPILOGUE+UNLINKED
llvm_libunwind longjmp x86_64 clang-asm long_jump+0x1d skipped FP_SET+FP_REUSED+LOST_REGISTER
llvm_libunwind genc_fv1o128c1_fc2_fc3t3_f8a1 x86_64 clang-Os @16 wrong_register REALIGNED+CHANGED+FAR+LINKED+PROLOGUE
minidump_stackwalk_no_symbols record_replaced x86_64 keystone install+0x21 wrong RECORD_REPLACED>1
minidump_stackwalk_no_symbols record_replaced arm64 clang-asm raiser+0x18 wrong RECORD_REPLACED
nongnu_backtrace_exidx struct_return    arm32  gcc-thumb-O2-fp make+0x3c       wrong          FP_MOVED_ON
nongnu_backtrace_exidx early_return arm32 keystone classify+0x28 skipped FRAMELESS+FRAME_IN_PART
nongnu_backtrace_exidx guarded_return arm32 clang-thumb-O2 work+0x42 wrong FRAMELESS+FRAME_IN_PART
perf genc_fv1o128c1_fc2_fc3t3_f8a1 x86_64 clang-Os f3+0x5b ended_early EPILOGUE+LINKED_FURTHER<3
symbolic         moved_return     x86_64 keystone        helper          stopped        MOVED_UP
symbolic genc_17 arm64 clang-O1-fp f4+0xc8 ended_early FRAMELESS+KEPT_ELSEWHERE+RETURN_SAVED
symbolic_debug_frame gen_9 arm32 keystone f3+0x60 ended_early FRAMELESS+KEPT_ELSEWHERE+RETURN_SAVED
symbolic_debug_frame genc_fa1c1_f4104 arm32  gcc-thumb-O2    f1+0x24         wrong_register GIVEN_BACK_IN_PART
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
def test_a_site_beyond_the_eight_has_the_reason_that_was_found_for_it(pinned: list[str]) -> None:
    name, program, arch, recipe, at, outcome, mechanism = pinned
    unit, tool = Unit(program, arch, recipe), asked(name)
    run = run_of(unit)
    if RECIPES[recipe].tool.gnu and tools_of(unit) != tools_of_set(STRATEGIES).get(arch):
        pytest.skip(f"another compiler has other instructions: {tools_of(unit)}")
    steps = [run.step_at(place) for place in at.split(",")]
    verdict = judge(run, steps[-1], answers_at(run, tool, steps)[steps[-1]], tool)
    assert not verdict.unexplained, verdict
    if version(tool) == tools_of_set(REFEREES).get(name):
        assert verdict.outcome.value == outcome, verdict
        assert verdict.explained_by is not None and verdict.explained_by.mechanism == mechanism, verdict


def unit_of(program: str) -> Unit:
    """One unit of a program, which follows from the names alone."""
    there = units([PROGRAMS[program]], ARCHES.values(), RECIPES.values())
    return min(there, key=lambda unit: sha256(f"every instruction of {unit}".encode()).digest())


@pytest.mark.everything
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_every_tool_is_explained_at_every_instruction_of_a_unit(program: str) -> None:
    run = run_of(unit_of(program))
    steps, open_sites, sites = sampled_steps(run, len(run)), [], 0
    for tool in present().values():
        if tool.applies_to(run.built.image):
            for step, said in answers_at(run, tool, steps).items():
                verdict = judge(run, step, said, tool)
                sites += 1
                if verdict.unexplained:
                    open_sites.append(f"{unit_of(program)} {tool.name} @{step}: {verdict}")
    assert sites
    assert not open_sites, "\n".join(open_sites)
