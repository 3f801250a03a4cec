"""Profilers that were executed, and perf."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.image import LoadedImage
from testbed.referee import present
from testbed.referee.perf import unwinder
from testbed.referee.perf.unwinder import DUMP, REFEREE, find, opening, sample, unwind
from testbed.referee.profilers import agent, in_handler
from testbed.referee.profilers.agent import GLIBC, GNU, LIBGCC, LLVM, AgentLibrary, agent_for, found_for
from testbed.referee.profilers.unwinder import GLIBC_BACKTRACE, LIBGCC_BACKTRACE, LLVM_BACKTRACE
from testbed.runs.run import Run, judge_all
from testbed.trace import Snapshot
from testbed.words.errors import ToolchainMissing, ToolCrashed, UnknownRegister
from testbed.words.outcome import Outcome
from tests.corpus import script
from unwinders import UNWINDERS

LIBGCC_SAYS, GLIBC_SAYS, LLVM_SAYS = (r.unwinders[0] for r in (LIBGCC_BACKTRACE, GLIBC_BACKTRACE, LLVM_BACKTRACE))
RIGHT = ("leaf_call", "callee_saved", "early_return", "hoisted_add", "other_stack", "recursion")


def needs(source: AgentLibrary, arch: str) -> None:
    if found_for(source, ARCHES[arch]) is None:
        pytest.skip(GNU[arch].packages)


def outcomes(run: Run, unwinder: Unwinder) -> set[Outcome]:
    return {verdict.outcome for verdict in judge_all(run, unwinder) if not verdict.transition}


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
@pytest.mark.parametrize("program", RIGHT)
@pytest.mark.parametrize(("source", "unwinder"), [(LIBGCC, LIBGCC_SAYS), (GLIBC, GLIBC_SAYS)], ids=lambda s: s.name)
def test_gnu_is_exact_at_every_instruction_where_the_table_is_right(
    source: AgentLibrary, unwinder: Unwinder, program: str, arch: str
) -> None:
    needs(source, arch)
    run = testbed.run(program, arch=arch, recipe="clang-O2" if program == "recursion" else "clang-asm")
    assert outcomes(run, unwinder) == {Outcome.EXACT}


@pytest.mark.parametrize(
    ("program", "recipe"), [("pac_ret", "clang-asm"), ("recursion", "clang-O2-pac"), ("recursion", "clang-O2-fp-pac")]
)
def test_libgcc_authenticates_what_the_program_has_signed(program: str, recipe: str) -> None:
    """With the key that the table names, on the core that has it: the executed library itself runs ``autia1716``."""
    needs(LIBGCC, "arm64")
    assert outcomes(testbed.run(program, arch="arm64", recipe=recipe), LIBGCC_SAYS) == {Outcome.EXACT}


def test_libgcc_dies_where_a_sign_state_changes_too_early() -> None:
    needs(LIBGCC, "arm64")
    run = testbed.run("pac_early", arch="arm64", recipe="clang-asm")
    died = [step for step, verdict in enumerate(judge_all(run, LIBGCC_SAYS)) if verdict.outcome is Outcome.CRASHED]
    assert [run.where(int(run.trace.pc[step])) for step in died] == ["work"]
    assert all(verdict.exact for verdict in judge_all(run, UNWINDERS["eh_frame"]))


@pytest.mark.parametrize("recipe", ["clang-O2", "clang-thumb-O2"])
@pytest.mark.parametrize(("source", "name"), [(LIBGCC, "libgcc_forced"), (LLVM, "llvm_forced")], ids=lambda s: str(s))
def test_by_force_ehabi_unwinders_say_where_the_stack_ends(source: AgentLibrary, name: str, recipe: str) -> None:
    """The frame of the start code is listed, and that it is the last: what `_Unwind_Backtrace` never says."""
    needs(source, "arm32")
    forced = present([name])[name]
    run = testbed.run("recursion", arch="arm32", recipe=recipe)
    verdicts = [verdict for verdict in judge_all(run, forced) if not verdict.transition]
    assert sum(verdict.exact for verdict in verdicts) >= 0.9 * len(verdicts)
    assert Outcome.EXACT not in outcomes(run, LIBGCC_SAYS if source is LIBGCC else LLVM_SAYS)


def test_by_force_a_frame_that_cannot_be_unwound_is_the_end_for_llvm_and_an_error_without_an_entry_for_libgcc() -> None:
    needs(LIBGCC, "arm32")
    run = testbed.run("cant_unwind", arch="arm32", recipe="clang-asm")
    libgcc, llvm = (present([name])[name] for name in ("libgcc_forced", "llvm_forced"))
    inside = [step for step in range(len(run)) if run.where(run[step].pc).startswith(("_start", "leaf"))]
    ends, ends_for_libgcc = (
        {step for step in inside if unwinder.unwind(run[step]).stopped is None} for unwinder in (llvm, libgcc)
    )
    assert len(ends_for_libgcc) > 3
    assert ends - ends_for_libgcc == {0}  # looked up a byte before the first instruction of the file: no entry


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_libgcc_and_our_reader_of_the_same_table_find_the_same_frames(arch: str) -> None:
    needs(LIBGCC, arch)
    run = testbed.run("retpoline" if arch == "x86_64" else "outlined", arch=arch, recipe="clang-asm")
    for step in range(len(run)):
        snapshot = run.trace.snapshot(step)
        said, ours = LIBGCC_SAYS.unwind(snapshot), UNWINDERS["eh_frame"].unwind(snapshot)
        assert [(f.pc, f.registers.get(run.arch.sp)) for f in said.frames[1:]] == [
            (f.pc, f.registers.get(run.arch.sp)) for f in ours.frames[1:]
        ], run.where(snapshot.pc)


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_llvm_is_exact_where_no_row_begins_and_else_uses_the_row_before(arch: str) -> None:
    run = testbed.run("leaf_call", arch=arch, recipe="clang-asm")
    rows = UNWINDERS["eh_frame"].rows
    table = rows(run.built.image)
    wrong = 0
    for step, verdict in enumerate(judge_all(run, LLVM_SAYS)):
        pc = run.trace.snapshot(step).pc
        before, here = table.at(pc - 1), table.at(pc)
        if before is None or here is None or (before.cfa, before.registers) == (here.cfa, here.registers):
            assert verdict.exact, run.where(pc)
        wrong += not verdict.exact
    assert wrong > 4


def test_on_arm_the_start_code_is_an_error_for_libgcc_and_silence_for_backtrace() -> None:
    needs(LIBGCC, "arm32")
    run = testbed.run("leaf_call", arch="arm32", recipe="clang-asm")
    body = run.at("leaf_body")
    said, short = LIBGCC_SAYS.unwind(body), GLIBC_SAYS.unwind(body)
    true = [frame.pc for frame in run.truth(body).frames]
    assert [frame.pc for frame in said.frames] == [frame.pc for frame in short.frames] == true[:-1]
    assert said.stopped is not None
    assert short.stopped is None


@pytest.mark.parametrize("recipe", ["clang-asm", "clang-asm-thumb"])
def test_on_arm_llvm_finds_every_caller_but_the_start_code_from_the_body_of_a_function(recipe: str) -> None:
    run = testbed.run("leaf_call", arch="arm32", recipe=recipe)
    body = run.at("leaf_body")
    assert [frame.pc for frame in LLVM_SAYS.unwind(body).frames] == [f.pc for f in run.truth(body).frames[:-1]]


def test_a_library_that_dies_or_hangs_is_an_outcome_and_the_next_snapshot_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = testbed.run("leaf_call", arch="x86_64", recipe="clang-asm")
    body = run.at("leaf_body")
    whole = LLVM_SAYS.unwind(body)
    assert whole.stopped is None
    died = LLVM_SAYS.unwind(run.at("main+0xf"))
    assert reason(died) == "ToolCrashed"
    assert "SIGSEGV" in str(died.stopped)
    assert "libunwind::" in str(died.stopped)
    assert str(LLVM_SAYS.unwind(body)) == str(whole)
    describe = in_handler._describe_modules

    def loop_for_ever(bench: in_handler.Bench, images: tuple[LoadedImage, ...]) -> None:
        describe(bench, images)
        bench.machine.mem_write(bench.address("testbed_handler"), b"\xeb\xfe")  # jmp to itself

    monkeypatch.setattr(in_handler, "_BENCHES", {})  # a fresh machine: what was translated stays as it was
    monkeypatch.setattr(in_handler, "_describe_modules", loop_for_ever)
    monkeypatch.setattr(in_handler, "TIME", 100_000)
    assert reason(LLVM_SAYS.unwind(body)) == "ToolHung"
    monkeypatch.undo()
    assert str(LLVM_SAYS.unwind(body)) == str(whole)


def test_an_abort_is_a_crash() -> None:
    needs(LIBGCC, "arm64")
    run = testbed.run("signal", arch="arm64", recipe="clang-asm")
    assert "abort()" in str(LIBGCC_SAYS.unwind(run.at("on_signal")).stopped)


def test_without_the_compiler_it_is_not_there_and_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.shutil, "which", lambda name: None)
    found_for.cache_clear()
    agent_for.cache_clear()
    try:
        assert LIBGCC_BACKTRACE.find() is None
        with pytest.raises(ToolchainMissing, match="gcc-aarch64-linux-gnu"):
            agent_for(LIBGCC, ARCHES["arm64"])
    finally:
        found_for.cache_clear()
        agent_for.cache_clear()


def reason(said: Backtrace) -> str:
    return said.stopped.reason if said.stopped else ""


# Linux perf as a referee: one process, a stream of samples, what it lists of each.


needs_perf = pytest.mark.skipif(
    find() is None, reason="apt-get install linux-perf (built with libunwind and libpython)"
)
(PERF,) = REFEREE.unwinders


@needs_perf
def test_a_sample_holds_so_much_of_the_stack_and_the_list_ends_where_it_does() -> None:
    run = testbed.run("big_frame", arch="x86_64", recipe="clang-O0")
    verdicts = judge_all(run, PERF)
    cut = {step for step in range(len(run)) if beyond(run, step) is not None}
    assert cut == {step for step, verdict in enumerate(verdicts) if not verdict.exact}
    assert 0 < len(cut) < len(run)
    assert all(verdicts[step].frame == beyond(run, step) for step in cut)


def beyond(run: testbed.Run, step: int) -> int | None:
    """The first true frame whose return address is not in the sample."""
    cfas = [frame.cfa for frame in run.truth(step).frames[:-1]]
    return next((k for k, cfa in enumerate(cfas) if cfa is not None and cfa > run[step].sp + DUMP), None)


@needs_perf
def test_what_was_popped_is_not_in_the_sample() -> None:
    """The same library, given the word below SP, goes on: it is the sample that lacks it."""
    run = testbed.run("function_pointers", arch="x86_64", recipe="clang-O1-fp")
    at = run.at("twice+0xe")
    assert not testbed.judge(run, at, unwind(at), PERF).exact
    assert testbed.judge(run, at, UNWINDERS["eh_frame"].unwind(at)).exact


@needs_perf
def test_a_sample_has_the_registers_and_the_stack_from_sp_up() -> None:
    run = testbed.run("leaf_call", arch="x86_64", recipe="keystone")
    snapshot = run.at("leaf_body")
    record = sample(snapshot, 7)
    size = int.from_bytes(record[6:8], "little")
    held = int.from_bytes(record[size - 8 : size], "little")
    stack = record[size - 8 - DUMP :][:held]
    assert int.from_bytes(record[8:16], "little") == snapshot.pc
    assert stack == snapshot.memory.read(snapshot.sp, held) and held % 8 == 0
    assert int.from_bytes(record[size - 16 - DUMP :][:8], "little") == DUMP
    assert all(value.to_bytes(8, "little") in record for value in snapshot.registers.values() if value > 1 << 32)


@needs_perf
def test_a_process_that_dies_is_an_outcome_and_the_next_snapshot_finds_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = testbed.run("leaf_call", arch="x86_64", recipe="keystone")
    whole = unwind(run[10])
    monkeypatch.setattr(unwinder, "sample", lambda snapshot, time: b"\1\0\0\0\0\0\1\0" * 2)  # a record of one byte
    died = unwind(run[10])
    assert isinstance(died.stopped, ToolCrashed) and len(died.frames) == 1
    monkeypatch.undo()
    assert str(unwind(run[10])) == str(whole)


@needs_perf
def test_a_register_that_is_not_known_is_not_made_up() -> None:
    snapshot = testbed.run("leaf_call", arch="x86_64", recipe="keystone")[10]
    registers = {name: value for name, value in snapshot.registers.items() if name != "rbx"}
    said = PERF.unwind(Snapshot(snapshot.arch, registers, snapshot.memory, snapshot.images))
    assert isinstance(said.stopped, UnknownRegister)


@pytest.fixture
def other_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    program = tmp_path / "perf"
    monkeypatch.setattr(unwinder.shutil, "which", lambda name: str(program))
    find.cache_clear()
    yield program
    find.cache_clear()


@needs_perf
def test_a_perf_without_libunwind_is_not_taken(other_perf: Path) -> None:
    said = "#!/bin/sh\necho 'perf version 9.9'; echo ' libunwind: [ OFF ]  # X'; echo ' libpython: [ on  ]'\n"
    script(other_perf, said)
    assert find() is None


@needs_perf
def test_every_image_of_a_program_is_told() -> None:
    snapshot = testbed.run("leaf_call", arch="x86_64", recipe="keystone")[0]
    assert opening(snapshot.images).count(snapshot.images[0].image.path.name.encode()) == len(
        snapshot.images[0].image.segments
    )
