"""Processes in pieces, and the tracks of their threads."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from testbed.process import process_run, run_process, running
from testbed.process.pieces import LongProcess, run_in_pieces
from testbed.process.recorder import ProcessRecorder
from testbed.process.starting import started
from testbed.process.state import Process
from testbed.process.system_calls import begin_call
from testbed.process.tracks import own_steps
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

    monkeypatch.setattr("testbed.process.pieces.started", noted)
    long = in_pieces("hello", "x86_64", 10_000)
    for _ in range(2):
        assert sum(map(len, long.chunks(long.threads[0]))) == long.run.steps
    assert len(kept) == 3


@pytest.mark.parametrize(("name", "said"), [("signals", "handles a signal"), ("vforked", "calls vfork")])
def test_what_cannot_be_cut_says_so(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        in_pieces(name, "x86_64", 10_000)


# A track's memory is at each of its steps what the thread saw: held against the machine at every system call.


SEEN = 512  # bytes of the stack that are compared


@pytest.mark.parametrize(
    ("name", "target", "link"),
    [
        ("threads", "x86_64", "static"),
        ("threads", "thumb", "dynamic"),
        ("signals", "arm64", "static"),
        ("sort", "arm64", "dynamic"),
        ("vforked", "a32", "static"),
    ],
)
def test_memory_at_every_system_call(name: str, target: str, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, dict[int, bytes]]] = []

    def look(process: Process) -> None:
        recorder = process.recorder
        sp = recorder[process.arch.sp]
        size = min(SEEN, process.abi.stack_top - sp if sp > process.abi.stack_top - SEEN else SEEN)
        places = {sp: size, recorder.uc.reg_read(process.abi.thread_pointer) - 64: 128}
        # Where something was mapped, anew or at all: the beginning and the end of each area that programs can read.
        for area in list(process.memory)[:: max(1, len(list(process.memory)) // 6)]:
            if area.backed and area.protection:
                places |= {area.start: 64, area.end - 64: 64}
        found = {}
        for address, length in places.items():
            area = process.memory.area_at(address)
            if area is not None and area.backed and address + length <= area.end:
                found[address] = bytes(recorder.uc.mem_read(address, length))
        seen.append((process.current.number, recorder.steps - 1, found))
        begin_call(process)

    monkeypatch.setattr(running, "begin_call", look)
    whole: list[tuple[int, tuple[tuple[int, int], ...]]] = []
    original = process_run.tracks_of

    def noticed(recording, threads, end, last):  # type: ignore[no-untyped-def]
        whole.extend((thread.number, (*thread.after, *thread.pieces)) for thread in threads)
        return original(recording, threads, end, last)

    monkeypatch.setattr(process_run, "tracks_of", noticed)
    run = process_run.run_process(built(name, target, link))
    traces = {track.thread: track.trace for track in run.tracks}
    compared = 0
    for thread, step, found in seen:
        own = int(own_steps(dict(whole)[thread], np.array([step]))[0])
        memory = traces[thread].memory(own)
        for address, data in found.items():
            assert memory.read(address, len(data)) == data, f"thread {thread}, step {own}, at {address:#x}"
            compared += 1
    assert compared > 50 and len(traces) == len({thread for thread, _, _ in seen})


def test_every_step_is_in_one_track() -> None:
    run = process_run.run_process(built("threads", "arm64", "static"))
    assert sum(len(track.trace) - track.begins for track in run.tracks) == run.steps
    assert len(run.tracks) == 4
    for track in run.tracks:
        trace = track.trace
        assert np.all(np.diff(trace.writes.step.astype(np.int64)) >= 0)
        assert not len(trace.writes) or trace.writes.step[-1] < len(trace)


def test_steps_are_counted_in_the_pieces_that_they_lie_in_or_follow() -> None:
    pieces = [(2, 5), (9, 11)]
    steps = np.arange(13)
    assert own_steps(pieces, steps).tolist() == [-1, -1, 0, 1, 2, 2, 2, 2, 2, 3, 4, 4, 4]


@pytest.mark.parametrize("target", ["x86_64", "arm64", "a32", "thumb"])
def test_a_signal_is_a_step_without_an_instruction_and_goes_back_where_it_came(target: str) -> None:
    trace = process_run.run_process(built("signals", target, "static")).tracks[0].trace
    arrived = np.flatnonzero(trace.sizes == 0)
    assert len(arrived) > 10 and len(trace.resumed) >= 9
    for step in trace.resumed:
        before = [at for at in arrived.tolist() if at < step]
        same = [at for at in before if trace.sp[at] == trace.sp[step] and trace.pc[at] == trace.pc[step]]
        edited = [
            at for at in before if trace.sp[at] == trace.sp[step] and trace.pc[at] < trace.pc[step] <= trace.pc[at] + 4
        ]
        assert same or edited, step
