"""A track's memory is at each of its steps what the thread saw: held against the machine at every system call."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.process import process_run, running
from testbed.process.state import Process
from testbed.process.system_calls import begin_call
from testbed.process.tracks import own_steps
from tests.process.builds import built

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
