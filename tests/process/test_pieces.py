"""Processes in pieces: steps and truth are those of the whole run."""

import weakref

import numpy as np
import pytest

from testbed.process import run_process
from testbed.process.process_run import LongProcess, run_in_pieces
from testbed.process.recorder import ProcessRecorder
from testbed.process.starting import started
from testbed.truth import observe
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import windows
from testbed.words.errors import EmulationError, UsageError
from tests.process.builds import built, ran

BUDGET = 4_000_000


def in_pieces(name: str, target: str, piece: int) -> LongProcess:
    return run_in_pieces(built(name, target, "static"), budget=BUDGET, piece=piece)


@pytest.mark.parametrize(
    ("name", "target", "piece"), [("hello", "x86_64", 3_000), ("threads", "arm64", 7_001), ("hello", "thumb", 4_999)]
)
def test_steps_and_truth_are_those_of_the_whole_run(name: str, target: str, piece: int) -> None:
    whole, long = ran(name, target, "static"), in_pieces(name, target, piece)
    assert (long.run.steps, long.run.status, long.run.stdout) == (whole.steps, whole.status, whole.stdout)
    assert (long.run.calls, long.run.tracks) == (whole.calls, ())
    assert [thread.number for thread in long.threads] == [track.thread for track in whole.tracks]
    for thread, track in zip(long.threads, whole.tracks, strict=True):
        trace, at = track.trace, 0
        for chunk in long.chunks(thread):
            assert chunk.first == at and len(chunk) <= piece + 64
            assert np.array_equal(chunk.trace.registers, trace.registers[at : at + len(chunk)])
            assert np.array_equal(chunk.trace.sizes, trace.sizes[at : at + len(chunk)])
            at += len(chunk)
        assert at == len(trace) == thread.steps
        _compare(long, thread, trace)


def _compare(long, thread, trace) -> None:  # type: ignore[no-untyped-def]
    true, compared = observe(trace), 0
    known = survey(lambda: windows(long.chunks(thread)))
    for part, _ in watch(windows(long.chunks(thread)), known):
        window = part.window
        own = slice(window.start, window.stop)
        assert np.array_equal(part.transition[own], true.transition[window.first : window.end])
        for step in range(window.first, window.end, 211):
            row = window.row(step)
            said, right = part.stack(row).frames, true.stack(step).frames
            assert [(f.pc, f.cfa) for f in said] == [(f.pc, f.cfa) for f in right], step
            sp = int(trace.sp[step])
            assert part.trace.memory(row).unsigned(sp, 4) == trace.memory(step).unsigned(sp, 4), step
            compared += 1
    assert compared >= len(trace) // 211


def test_a_run_that_is_cut_off_in_a_later_piece_tells_its_last_steps() -> None:
    long = run_in_pieces(built("hello", "x86_64", "static"), budget=9_000, piece=4_000)
    (thread,) = long.threads
    *_, last = list(long.chunks(thread))
    whole = run_process(built("hello", "x86_64", "static"), budget=9_000).tracks[0].trace
    assert last.first > 4_000 and isinstance(last.end, EmulationError) and isinstance(whole.end, EmulationError)
    assert last.end.last_steps == whole.end.last_steps and last.end.last_steps


def test_of_a_run_that_is_over_nothing_is_left_when_the_next_one_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulator and its callbacks hold each other, and all memory of the program."""
    kept: list[weakref.ref[ProcessRecorder]] = []

    def noted(*given: object) -> object:
        process, streams = started(*given)  # type: ignore[arg-type]
        assert all(each() is None for each in kept)
        kept.append(weakref.ref(process.recorder))
        return process, streams

    monkeypatch.setattr("testbed.process.process_run.started", noted)
    long = in_pieces("hello", "x86_64", 10_000)
    for _ in range(2):
        assert sum(map(len, long.chunks(long.threads[0]))) == long.run.steps
    assert len(kept) == 3


def test_what_cannot_be_cut_says_so() -> None:
    with pytest.raises(UsageError, match="handles a signal"):
        in_pieces("signals", "x86_64", 10_000)


@pytest.mark.parametrize("given", [("children", "pipe"), ("children", "vfork"), ("vforked",)], ids="-".join)
def test_a_run_with_children_is_cut_into_pieces_of_the_program_that_was_named(given: tuple[str, ...]) -> None:
    name, *arguments = given
    long = run_in_pieces(built(name, "x86_64", "static"), arguments, budget=1_000_000, piece=4096)
    whole = ran(name, "x86_64", "static", *arguments)
    (thread,) = long.threads
    chunks = list(long.chunks(thread))
    assert long.run.steps > 4096 and (long.run.stdout, long.run.steps) == (whole.stdout, whole.steps)
    assert [each.steps for each in long.run.children] == [each.steps for each in whole.children]
    assert np.array_equal(np.concatenate([each.trace.registers for each in chunks]), whole.tracks[0].trace.registers)
