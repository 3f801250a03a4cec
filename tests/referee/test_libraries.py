"""libdw, libunwind and libunwindstack as unwinders, on every architecture that they have."""

import ctypes.util
from pathlib import Path

import pytest

import testbed
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, cell_of, run_unit, units
from testbed.contract.unwinder import FrameKind, Unwinder
from testbed.referee import REFEREES
from testbed.referee.libdw import unwinder as libdw
from testbed.referee.libdw import unwinder as libdw_library
from testbed.referee.libunwind import unwinder as libunwind_library
from testbed.referee.libunwindstack import unwinder as library
from testbed.referee.libunwindstack.unwinder import REFEREE, find, maps_text
from testbed.referee.llvm_libunwind import unwinder as llvm_library
from testbed.referee.profilers import agent
from testbed.referee.profilers.agent import NONGNU, NONGNU_PACKAGES, brought_by, found_for
from testbed.referee.profilers.in_handler import _bench, _words, executed
from testbed.referee.profilers.unwinder import NONGNU_BACKTRACE
from testbed.runs.run import judge_all, run_program
from testbed.trace import Snapshot
from testbed.words.errors import BuildError
from testbed.words.outcome import Outcome
from tests.corpus import referees_unwinder
from unwinders import UNWINDERS

LIBRARIES = ("libdw", "libunwind", "llvm_libunwind")
LIBRARIES = {unwinder.name: name for name in LIBRARIES for unwinder in REFEREES[name].unwinders}
# Right tables, wrong ones, none; signals; a lost register; a compiled program; Mach-O.
PROGRAMS_ASKED = (
    *("leaf_call", "callee_pops", "val_expression", "late_push_wrong", "no_table", "signal", "longjmp", "null_call"),
    *("inlined_call", "busy_leaf"),
)
RECIPES_ASKED = ("keystone", "keystone-thumb", "clang-O0", "clang-thumb-O0", "macho-O2", "macho-O2-dwarf")
UNITS = units([PROGRAMS[name] for name in PROGRAMS_ASKED], ARCHES.values(), [RECIPES[name] for name in RECIPES_ASKED])


def installed(name: str) -> Unwinder:
    return referees_unwinder(LIBRARIES[name], name)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_every_library_is_exact_somewhere_in_every_unit(unit: Unit) -> None:
    run = run_unit(unit, PROGRAMS)
    there = [name for name, referee in LIBRARIES.items() if REFEREES[referee].find() is not None]
    asked = [unwinder for name in there if (unwinder := installed(name)).applies_to(run.built.image)]
    assert asked or len(there) < len(LIBRARIES), "some library has something to say of every file"
    for unwinder in asked:
        cell = cell_of(run, unwinder, judge_all(run, unwinder))
        assert cell.exact > 0, f"{cell}: nothing is exact"


def test_libdw_recovers_registers_where_its_version_can_tell_them() -> None:
    unwinder = installed("libdw")
    library = libdw_library.load(libdw_library.library_file())
    if not hasattr(library, "dwfl_frame_reg"):
        pytest.skip("this libdw is older than 0.188: apt-get install libdw1 from a newer Debian")
    run = run_program(PROGRAMS["leaf_call"], ARCHES["arm64"], "keystone")
    caller = unwinder.unwind(run.at("leaf+0x8")).frames[1]
    true = run.truth(run.step_at("leaf+0x8")).frames[1]
    assert caller.registers["sp"] == true.registers["sp"]
    assert caller.registers["x29"] == true.registers["x29"]


def test_llvm_takes_the_row_before_the_pc_only_where_it_is_asked_as_unw_step_is() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")
    natural, exact = (judge_all(run, installed(name)) for name in ("llvm_libunwind", "llvm_libunwind_exact"))
    assert all(verdict.exact for verdict in exact)
    wrong = {run.instruction(step).split()[0] for step, verdict in enumerate(natural) if not verdict.exact}
    assert wrong == {"mov", "ret"}, "right behind push and pop, where a row begins"


def test_what_later_versions_of_libunwind_call_back_is_null() -> None:
    given = bytes(libunwind_library.Accessors())
    names_of_1_8 = ["get_elf_filename", "get_proc_ip_range", "ptrauth_insn_mask"]
    assert len(given) >= ctypes.sizeof(ctypes.c_void_p) * (8 + len(names_of_1_8))


@pytest.mark.parametrize(
    ("version", "words_before"),
    [("interface 8.0.1", 8), ("interface 8.1.0", 8), ("interface 8.2.0", 7), ("interface 9.0.0", 7), ("unknown", 7)],
)
def test_the_table_lies_where_the_interface_of_that_version_has_it(version: str, words_before: int) -> None:
    assert libunwind_library.table_info_of(version).segment_base.offset == 8 * words_before


def test_libunwind_remembers_a_row_by_its_pc_alone() -> None:
    unwinder = installed("libunwind")
    run, alone = (run_program(PROGRAMS["callee_pops"], ARCHES["x86_64"], "keystone") for _ in range(2))
    at = run.step_at("work_popped")
    assert [frame.pc for frame in unwinder.unwind(alone[at]).frames] == [f.pc for f in run.truth(at).frames]
    said = [unwinder.unwind(run[step]) for step in range(at + 1)][-1]
    assert run.frame_names(said.frames) == ("work", "_start"), "main is skipped once sum was unwound"


def test_a_position_independent_file_is_unwound_where_it_was_loaded() -> None:
    unwinder = installed("llvm_libunwind_compact")
    run = run_program(PROGRAMS["inlined_call"], ARCHES["arm64"], "macho-O2")
    assert run.loaded.bias, "a Mach-O file is loaded with a slide"
    settled = [
        step for step in range(len(run)) if len(unwinder.unwind(run[step]).frames) == len(run.truth(step).frames)
    ]
    assert len(settled) > len(run) // 2


@pytest.mark.parametrize("name", ["libdw", "libunwind"])
def test_a_library_that_is_not_there_is_not_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = {"libdw": libdw_library, "libunwind": libunwind_library}[name]
    monkeypatch.setattr(ctypes.util, "find_library", lambda _: None)
    if name == "libdw":
        monkeypatch.setattr(libdw_library, "own_packages", lambda _: "")
    caches = (library.load, libunwind_library.find, libdw.find)
    for each in caches:
        each.cache_clear()
    try:
        assert REFEREES[name].find() is None
        assert name in REFEREES[name].package
    finally:
        for each in caches:
            each.cache_clear()


@pytest.mark.usefixtures("own_cache")
def test_a_compiler_that_fails_is_one_typed_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "broken.cpp"
    source.write_text("this is no C++", encoding="utf-8")
    monkeypatch.setattr(llvm_library, "SOURCE", source)
    found = llvm_library.find()
    assert found is not None
    llvm_library.built.cache_clear()
    try:
        with pytest.raises(BuildError, match="does not compile"):
            llvm_library.built(found)
    finally:
        llvm_library.built.cache_clear()


def test_a_snapshot_that_did_not_come_from_a_run_is_unwound_too() -> None:
    unwinder = installed("libunwind")
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")
    at = run.at("leaf+0x4")
    foreign = Snapshot.from_parts(
        arch="x86_64",
        registers=at.registers,
        memory=[(at.sp, at.memory.read(at.sp, at.memory.mapped_until(at.sp) - at.sp))],
        images=[(run.built.path, 0)],
    )
    assert [f.pc for f in unwinder.unwind(foreign).frames] == [f.pc for f in unwinder.unwind(at).frames]
    assert len(unwinder.unwind(foreign).frames) == len(run.truth(at).frames)
    assert unwinder.unwind(foreign).stopped is None


def test_verdicts_of_crashes_are_no_lies() -> None:
    """What the libraries' processes may do is honest: nothing was said."""
    assert Outcome.CRASHED.honest
    assert Outcome.HUNG.honest


# nongnu libunwind executed in the emulator, on arm64 and arm32: from the registers that a signal came with.


ARM64, ARM32 = NONGNU_BACKTRACE.unwinders


def needs(arch: str) -> None:
    if found_for(NONGNU, ARCHES[arch]) is None:
        pytest.skip(brought_by(NONGNU, ARCHES[arch]))


@pytest.mark.parametrize("program", ["leaf_call", "callee_saved", "early_return", "recursion"])
def test_it_is_exact_where_the_table_is_right_and_finds_what_our_reader_finds(program: str) -> None:
    needs("arm64")
    run = testbed.run(program, arch="arm64", recipe="clang-O2" if program == "recursion" else "clang-asm")
    assert {verdict.outcome for verdict in judge_all(run, ARM64)} == {Outcome.EXACT}
    for step in range(0, len(run), 5):
        told, ours = ARM64.unwind(run[step]), UNWINDERS["eh_frame"].unwind(run[step])
        assert [(f.pc, f.registers["sp"]) for f in told.frames] == [(f.pc, f.registers["sp"]) for f in ours.frames]


@pytest.mark.parametrize("recipe", ["keystone", "keystone-thumb"])
def test_on_arm32_every_caller_is_found_from_the_body_of_a_function(recipe: str) -> None:
    needs("arm32")
    run = testbed.run("leaf_call", arch="arm32", recipe=recipe)
    body = run.at("leaf_body")
    said, true = ARM32.unwind(body), run.truth(body).frames
    assert [frame.pc for frame in said.frames] == [frame.pc for frame in true][: len(said.frames)]
    assert len(said.frames) >= len(true) - 1


def test_it_says_of_the_frame_behind_a_trampoline_that_a_signal_interrupted_it() -> None:
    needs("arm64")
    run = testbed.run("signal", arch="arm64", recipe="keystone")
    kinds = [frame.kind for frame in ARM64.unwind(run.at("@47")).frames]
    assert kinds[2] is FrameKind.INTERRUPTED and kinds[3] is FrameKind.CALLER


def test_what_is_mapped_is_what_the_library_is_told() -> None:
    """It asks the kernel before it reads: the answer is the snapshot's memory, and the agent's own."""
    needs("arm64")
    snapshot = testbed.run("leaf_call", arch="arm64", recipe="keystone")[5]
    executed(NONGNU, snapshot)
    bench = _bench(NONGNU, snapshot.arch)
    (count,) = _words(bench, "testbed_regions", 1)
    edges = _words(bench, "testbed_regions", 1 + 2 * count)[1:]
    ranges = list(zip(edges[::2], edges[1::2], strict=True))
    assert any(low <= snapshot.sp < high for low, high in ranges)
    assert any(low <= snapshot.pc < high for low, high in ranges)
    assert not any(low <= 0 < high for low, high in ranges)


def test_without_the_package_it_is_not_there_and_says_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(agent, "_nongnu_folder", lambda arch: tmp_path)
    found_for.cache_clear()
    try:
        assert found_for(NONGNU, ARCHES["arm64"]) is None
        assert NONGNU_BACKTRACE.find() is None
        assert "libunwind-dev:armhf" in NONGNU_PACKAGES["arm32"] and "armhf" in NONGNU_BACKTRACE.package
    finally:
        found_for.cache_clear()


# Android's libunwindstack as a referee: three architectures from one library, one snapshot after the other.


(STACK,) = REFEREE.unwinders
present = pytest.mark.skipif(find() is None, reason=f"apt-get install {library.PACKAGE} g++")


@present
def test_what_is_asked_does_not_depend_on_what_was_asked_before() -> None:
    """Rows are remembered in the library too widely: each snapshot is asked with nothing remembered."""
    run = testbed.run("mutual_recursion", arch="x86_64", recipe="gcc-O2")
    forwards = [str(STACK.unwind(run[step])) for step in range(len(run))]
    backwards = [str(STACK.unwind(run[step])) for step in reversed(range(len(run)))]
    assert forwards == backwards[::-1]


@present
def test_the_frame_that_a_signal_interrupted_is_looked_up_before_its_pc() -> None:
    run = testbed.run("signal", arch="arm64", recipe="keystone")
    at = run.at("@47")
    said = STACK.unwind(at)
    assert testbed.judge(run, at, said, STACK).outcome is Outcome.SKIPPED
    assert [frame.pc for frame in said.frames[:3]] == [frame.pc for frame in run.truth(at).frames[:3]]
    assert said.frames[2].kind is FrameKind.CALLER and run.truth(at).frames[2].interrupted


def test_files_are_told_as_the_kernel_tells_them() -> None:
    snapshot = testbed.run("leaf_call", arch="arm64", recipe="clang-asm")[0]
    lines = maps_text(snapshot.images).splitlines()
    assert len(lines) == len(snapshot.images[0].image.segments)
    starts = [int(line.split("-")[0], 16) for line in lines]
    assert starts == sorted(starts) and all(start % 0x1000 == 0 for start in starts)
    code = next(line for line in lines if " r-xp " in line)
    start, end = (int(part, 16) for part in code.split()[0].split("-"))
    assert start <= snapshot.pc < end


def test_another_version_of_the_library_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its classes may be laid out in another way."""
    told = {"-L": f"/usr/lib/x/{library._NAME}\n", "-W": "1:34.0.1-1"}
    monkeypatch.setattr(library.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(library, "printed", lambda command: told[command[1]])
    find.cache_clear()
    try:
        assert find() is None
        find.cache_clear()
        told["-W"] = "1:29.0.6-28"
        assert find() is not None
    finally:
        find.cache_clear()
