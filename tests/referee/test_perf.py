"""Linux perf as a referee: one process, a stream of samples, what it lists of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed
from testbed.referee.perf import strategy
from testbed.referee.perf.records import DUMP, opening, sample
from testbed.referee.perf.strategy import REFEREE, find, unwind
from testbed.runs.judging import judge_all
from testbed.trace import Snapshot
from testbed.words.errors import ToolCrashed, UnknownRegister
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS

pytestmark = pytest.mark.skipif(
    find() is None, reason="apt-get install linux-perf (built with libunwind and libpython)"
)
(PERF,) = REFEREE.unwinders
RIGHT = [("leaf_call", "keystone"), ("callee_saved", "clang-asm"), ("inlined_call", "clang-O2"), ("signal", "keystone")]


@pytest.mark.parametrize(("program", "recipe"), RIGHT)
def test_it_is_exact_where_the_table_is_right_and_lists_what_our_reader_lists(program: str, recipe: str) -> None:
    run = testbed.run(program, arch="x86_64", recipe=recipe)
    assert {verdict.outcome for verdict in judge_all(run, PERF)} == {Outcome.EXACT}
    for step in range(0, len(run), 4):
        ours = UNWINDERS["eh_frame"].unwind(run[step])
        assert [frame.pc for frame in unwind(run[step]).frames] == [frame.pc for frame in ours.frames]


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


def test_what_was_popped_is_not_in_the_sample() -> None:
    """The same library, given the word below SP, goes on: it is the sample that lacks it."""
    run = testbed.run("function_pointers", arch="x86_64", recipe="clang-O1-fp")
    at = run.at("twice+0xe")
    assert not testbed.judge(run, at, unwind(at), PERF).exact
    assert testbed.judge(run, at, UNWINDERS["eh_frame"].unwind(at)).exact


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


def test_a_process_that_dies_is_an_outcome_and_the_next_snapshot_finds_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = testbed.run("leaf_call", arch="x86_64", recipe="keystone")
    whole = unwind(run[10])
    monkeypatch.setattr(strategy, "sample", lambda snapshot, time: b"\1\0\0\0\0\0\1\0" * 2)  # a record of one byte
    died = unwind(run[10])
    assert isinstance(died.stopped, ToolCrashed) and len(died.frames) == 1
    monkeypatch.undo()
    assert str(unwind(run[10])) == str(whole)


def test_a_register_that_is_not_known_is_not_made_up() -> None:
    snapshot = testbed.run("leaf_call", arch="x86_64", recipe="keystone")[10]
    registers = {name: value for name, value in snapshot.registers.items() if name != "rbx"}
    said = PERF.unwind(Snapshot(snapshot.arch, registers, snapshot.memory, snapshot.images))
    assert isinstance(said.stopped, UnknownRegister)


@pytest.fixture
def other_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    program = tmp_path / "perf"
    monkeypatch.setattr(strategy.shutil, "which", lambda name: str(program))
    find.cache_clear()
    yield program
    find.cache_clear()


def test_a_perf_without_libunwind_is_not_taken(other_perf: Path) -> None:
    other_perf.write_text(
        "#!/bin/sh\necho 'perf version 9.9'; echo ' libunwind: [ OFF ]  # X'; echo ' libpython: [ on  ]'\n"
    )
    other_perf.chmod(0o755)
    assert find() is None


def test_every_image_of_a_program_is_told() -> None:
    snapshot = testbed.run("leaf_call", arch="x86_64", recipe="keystone")[0]
    assert opening(snapshot.images).count(snapshot.images[0].image.path.name.encode()) == len(
        snapshot.images[0].image.segments
    )
