"""The tracks of threads: at each step the memory that the thread saw, and signals and timers where they came."""

from dataclasses import replace

import numpy as np
import pytest

from testbed.image import describe
from testbed.process import process_run, run_process, running
from testbed.process.state import Process
from testbed.process.system_calls import begin_call
from testbed.process.tracks import own_steps
from testbed.profiling.judge import judge_process, watch_process
from testbed.truth import observe
from tests.process.builds import built, columns, ran
from tests.witness.witnessed import agreed
from unwinders import UNWINDERS

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
    traces = {track.thread: track.trace for each in (run, *run.children) for track in each.tracks}
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


def test_a_track_without_its_journal_would_be_another_one() -> None:
    """The journal is what memory is read from: without it a stack has other words."""
    trace = ran("threads", "x86_64", "dynamic").tracks[1].trace
    empty = replace(
        trace.writes, **{name: getattr(trace.writes, name)[:0] for name in ("step", "address", "size", "value")}
    )
    at = len(trace) // 2
    sp = int(trace.sp[at])
    assert trace.memory(at).read(sp, 256) != replace(trace, writes=empty).memory(at).read(sp, 256)


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


@pytest.mark.parametrize("target", ["x86_64", "thumb"])
def test_a_timer_interrupts_a_function_anywhere_and_its_stack_is_true(target: str) -> None:
    """The first steps of a program that a timer interrupts again and again; its handler is called by the kernel."""
    run = run_process(built("timers", target, "static"), ["again"], budget=420_000)
    (thread,) = watch_process(run).threads
    trace = thread.watched.trace
    arrived = np.flatnonzero(trace.sizes == 0)
    names = [describe(trace.images, int(trace.pc[step])).partition("+")[0] for step in arrived]
    assert names.count("deep") >= 3 and len(set(trace.pc[arrived].tolist())) >= 3
    agreed(thread.watched)
    truth = observe(trace)
    for step in arrived.tolist():
        stack = truth.stack(step + 1).frames
        assert describe(trace.images, stack[0].pc).startswith("counts") and stack[2].pc == trace.pc[step]


def test_a_timer_goes_off_at_the_same_steps_for_the_same_seed() -> None:
    program = built("timers", "x86_64", "static")
    first, again, other = (run_process(program, ["again"], budget=412_000, seed=seed) for seed in (1, 1, 2))
    steps = [np.flatnonzero(each.tracks[0].trace.sizes == 0).tolist() for each in (first, again, other)]
    assert columns(first) == columns(again) and steps[0] == steps[1] and len(steps[0]) == 4
    # A real-time timer is precise to the step: 100 microseconds are 100,000 steps.
    assert set(np.diff(steps[0]).tolist()) == {100_000}


def test_code_that_a_process_wrote_has_the_names_of_its_perf_map() -> None:
    """The last name of an address; what is nowhere is nothing. Tables are asked for there, and have no row."""
    run = ran("written", "x86_64", "static")
    assert run.stdout == b"16\n"
    trace, named = run.tracks[0].trace, run.images[-1]
    assert [each.name for each in named.image.symbols] == ["py::first:/here/a b.py", "py::second:/here/a b.py"]
    assert named.image.content[:4] == b"\x7fELF" and not named.covers(trace.images[-1].entry - 1)
    calls = run.images[0].image.symbol_named("called")
    truth = observe(trace)
    callers = []
    for step in np.flatnonzero(trace.pc == calls.address).tolist():
        frames = truth.stack(step).frames
        callers.append([describe(trace.images, each.pc, caller=i > 0) for i, each in enumerate(frames)][:3])
    assert [each[1] for each in callers] == ["py::first:/here/a b.py+0x6", "py::second:/here/a b.py+0x6"]
    assert all(each[2].startswith("main+") for each in callers)
    process = watch_process(run)
    inside = np.flatnonzero([named.covers(int(pc)) for pc in trace.pc])
    assert len(inside) == 8
    judged = judge_process(process, UNWINDERS["eh_frame"])
    assert judged.unexplained == 0
    shares = {each.code.function: each for each in judged.code}
    assert shares["py::first:/here/a b.py"].steps == 4
