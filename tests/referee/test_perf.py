"""Linux perf as a referee: one process, a stream of samples, what it lists of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed
from testbed.referee.perf import strategy
from testbed.referee.perf.limits import CUT, POPPED
from testbed.referee.perf.records import DUMP, opening, sample
from testbed.referee.perf.strategy import REFEREE, find, unwind
from testbed.runs.judging import judge_all
from testbed.trace import Snapshot
from testbed.words.errors import ToolCrashed, UnknownRegister
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
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
    cut = [step for step, verdict in enumerate(verdicts) if verdict.explained_by == CUT]
    assert cut and not any(verdict.unexplained for verdict in verdicts)
    for step in cut:
        frame = verdicts[step].frame
        assert Trait.DISTANT in run.lazy_traits(step, frame)
    exact = [step for step, verdict in enumerate(verdicts) if verdict.exact]
    assert exact and not any(Trait.DISTANT in run.lazy_traits(step, 0) for step in exact)


def test_what_was_popped_is_not_in_the_sample() -> None:
    """The same library, given the word below SP, goes on: it is the sample that lacks it."""
    run = testbed.run("function_pointers", arch="x86_64", recipe="clang-O1-fp")
    at = run.at("twice+0xe")
    assert testbed.judge(run, at, unwind(at), PERF).explained_by == POPPED
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
