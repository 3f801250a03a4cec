"""The tracks of threads: at each step the memory that the thread saw, and signals and timers where they came."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from testbed.image import describe
from testbed.process import process_run, run_process, running
from testbed.process.state import Process
from testbed.process.system_calls import begin_call
from testbed.process.tracks import own_steps
from testbed.profiling.judge import judge_process, watch_process
from testbed.trace import Exited, Trace
from testbed.truth import observe
from tests.process.builds import TARGETS, built, columns, ran
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


# Processes that have children: each has steps, a stack, memory and an end of its own; the same seed, the same tree.


@pytest.mark.parametrize(("target", "link"), [("x86_64", "dynamic"), ("arm64", "static"), ("thumb", "static")])
def test_a_vforked_child_has_its_parents_memory_and_its_own_descriptors(target: str, link: str) -> None:
    """qemu-user makes a fork of it, whose memory is a copy, so the kernel's own answer is written here."""
    run = ran("vforked", target, link)
    assert (run.stdout, run.status) == (b"33 33 31\n", 0)
    (parent,), children = run.tracks, run.children
    assert parent.begins == 0 and len(parent.trace) == run.steps
    assert [(child.parent, child.ending) for child in children] == [(run.number, "exit 33")] * 2
    for child in children:
        (track,) = child.tracks
        assert len(track.trace) - track.begins == child.steps and dict(child.calls) == {"close": 1, "exit_group": 1}
        assert np.array_equal(track.trace.registers[: track.begins], parent.trace.registers[: track.begins])
        assert track.trace.end == Exited(33)


@pytest.mark.parametrize("target", TARGETS)
def test_a_forked_child_goes_on_on_its_parents_stack(target: str) -> None:
    run = ran("children", target, "static", "fork")
    (child,) = run.children
    (parent,), (track,) = run.tracks, child.tracks
    assert child.parent == run.number and child.status == 8 and child.steps == len(track.trace) - track.begins
    assert np.array_equal(track.trace.registers[: track.begins], parent.trace.registers[: track.begins])
    callers = observe(track.trace).stack(track.begins).frames
    names = [describe(track.trace.images, each.pc, caller=i > 0).partition("+")[0] for i, each in enumerate(callers)]
    assert [name for name in names if name in ("_Fork", "deep", "main")] == ["_Fork", "deep", "main"]
    share = judge_process(watch_process(child), UNWINDERS["fp_chain" if target == "x86_64" else "stack_scan"])
    assert share.sites == child.steps


@pytest.mark.parametrize("target", ["x86_64", "arm64"])
@pytest.mark.parametrize("way", ["fork", "pipe", "exec"])
def test_the_witnesses_agree_about_parents_and_children_and_tables_are_explained(way: str, target: str) -> None:
    run = ran("children", target, "static", way)
    for each in (run, *run.children):
        process = watch_process(each)
        for thread in process.threads:
            assert agreed(thread.watched).steps > 1_000
        assert judge_process(process, UNWINDERS["eh_frame"]).unexplained == 0


@pytest.mark.parametrize("target", ["x86_64", "thumb"])
def test_what_another_process_writes_to_shared_memory_is_in_the_journal_of_who_sees_it(target: str) -> None:
    """A child writes the words; the parent, which prints them, makes no such write itself."""
    run = ran("channels", target, "static", "anonymous")
    parent, words = run.tracks[0].trace, b"a child"
    assert words in run.stdout
    (place,) = {at for each in run.children for at in _places(each.tracks[0].trace, words[:4])}
    writes = parent.writes
    near = (writes.address <= place) & (writes.address + writes.size > place)
    assert any(words[:4] in int(value).to_bytes(8, "little") for value in writes.value[near])
    assert place not in _places(parent, words[:4])


@pytest.mark.parametrize("target", ["x86_64", "thumb"])
def test_what_is_written_at_one_place_is_in_the_journal_wherever_the_same_memory_is_mapped(target: str) -> None:
    """By the program's own store, by a system call, and across the end of a page."""
    trace = ran("arrivals", target, "static", "twice").tracks[0].trace
    writes = trace.writes
    for words in (b"by t", b"by a"):
        found = (writes.value & np.uint64(0xFFFF_FFFF)) == int.from_bytes(words, "little")
        step = int(writes.step[found][0])
        pages = [place & -0x1000 for place in writes.address[found & (writes.step == step)].tolist()]
        assert len(set(pages)) == 2
        read = [trace.memory(step).read(page + 4093, 8) for page in pages]
        assert read == 2 * [bytes.fromhex("8877665544332211")]


def _places(trace: Trace, words: bytes) -> list[int]:
    """Where a trace itself writes these bytes at once."""
    writes = trace.writes
    mask = np.uint64((1 << 8 * len(words)) - 1)
    found: list[int] = writes.address[(writes.value & mask) == int.from_bytes(words, "little")].tolist()
    return found


def test_the_memory_of_a_child_is_its_own() -> None:
    """One variable, counted up by the child only."""
    run = ran("children", "x86_64", "static", "fork")
    symbol = run.images[0].image.symbol_named("shared")
    place = symbol.address + run.images[0].bias
    traces = run.tracks[0].trace, run.children[0].tracks[0].trace
    found = [int.from_bytes(trace.memory(len(trace) - 1).read(place, 4), "little") for trace in traces]
    assert found == [1, 2]


def test_the_same_seed_gives_the_same_tree() -> None:
    first, program = ran("children", "x86_64", "static", "group"), built("children", "x86_64", "static")
    again, other = run_process(program, ["group"]), run_process(program, ["group"], seed=8)
    assert columns(first) == columns(again) != columns(other)
    assert first.stdout == other.stdout and len(first.children) == 3


def test_what_a_call_that_is_not_emulated_ends_is_its_process() -> None:
    run = ran("children", "x86_64", "static", "unknown")
    (child,) = run.children
    assert (run.status, run.stdout) == (0, b"signal 31\n")
    assert child.status is None and "lookup_dcookie is not emulated, called at syscall+0x" in child.why


def test_two_hundred_threads_at_once() -> None:
    run = run_process(built("many_threads", "x86_64", "static"), ["200"])
    assert (run.stdout, run.status, len(run.tracks)) == (b"200 threads, 19900\n", 0, 201)


MEASURED = """
import re, sys
from pathlib import Path
from testbed.process import run_process
from testbed.profiling.judge import judge_process, watch_process
from unwinders import UNWINDERS
run = run_process(sys.argv[1], ["60"])
assert run.stdout == b"60 threads, 1770\\n", run
assert sum(len(region.data) for region in run.tracks[-1].trace.initial) > 60 * (8 << 20)
share = judge_process(watch_process(run), UNWINDERS["fp_chain"])
assert not share.unexplained
print(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text()).group(1))
"""


def test_stacks_that_threads_do_not_use_take_no_memory() -> None:
    """60 threads have 480 MB of stack, and 61 tracks began with all that is mapped then."""
    program = built("many_threads", "x86_64", "static")
    done = subprocess.run([sys.executable, "-c", MEASURED, program], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert int(done.stdout) < 700_000, "kB"  # 420 MB; with copies of all that is mapped 2.5 GB
