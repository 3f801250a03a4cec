"""Real programs do in the testbed what they do natively, or under qemu-user, and take no more memory than they use."""

from __future__ import annotations

import struct
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from testbed.campaign.prove import prove
from testbed.image import describe
from testbed.process import ProcessRun, process_run, run_process, running
from testbed.process.pieces import LongProcess, run_in_pieces
from testbed.process.recorder import ProcessRecorder
from testbed.process.starting import started
from testbed.process.state import Process
from testbed.process.system_calls import begin_call
from testbed.process.tracks import own_steps
from testbed.profiling.judge import judge_process, watch_process
from testbed.trace import Exited, Trace
from testbed.truth import observe
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import windows
from testbed.words.errors import EmulationError, ImageError, UsageError
from tests.process.builds import ALL, TARGETS, built, elsewhere, host_is_x86_64, ran, told
from unwinders import UNWINDERS

# Each program on each architecture, static or dynamic by turns.
RUNS = [
    *(("sort", target, link) for target, link in (("x86_64", "static"), ("arm64", "dynamic"), ("thumb", "static"))),
    *(("signals", target, link) for target, link in ALL if (target in ("a32", "x86_64")) == (link == "static")),
    *(("threads", target, link) for target, link in ALL if (target in ("a32", "arm64")) == (link == "static")),
    *(("jumps", target, "static") for target in ("x86_64", "arm64", "a32", "thumb")),
    *(("contexts", target, "static") for target in ("x86_64", "arm64", "a32", "thumb")),
    ("files", "x86_64", "dynamic"),
    ("files", "arm64", "static"),
    ("exceptions", "x86_64", "dynamic"),
]


@pytest.mark.parametrize(("target", "link"), ALL)
def test_hello_says_what_it_says_elsewhere(target: str, link: str) -> None:
    run = ran("hello", target, link, "abc")
    assert told(run) == elsewhere("hello", target, link, "abc")
    assert run.status == 7 and run.stdout.startswith(b"hello 2 abc 3.142 6.2831853072 0.3333333333333333")
    assert len(run.tracks) == 1 and len(run.tracks[0].trace) == run.steps


@pytest.mark.parametrize(("name", "target", "link"), RUNS)
def test_output_and_status_are_what_they_are_elsewhere(name: str, target: str, link: str) -> None:
    run = ran(name, target, link)
    assert told(run) == elsewhere(name, target, link)
    assert run.stdout


def test_files_are_the_same_on_a_machine_of_32_bits() -> None:
    """qemu-user on a machine of 64 bits lists no folder for it, so what the program says elsewhere is written here."""
    assert told(ran("files", "thumb", "static")) == elsewhere("files", "x86_64", "dynamic")


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


def columns(run: ProcessRun) -> list[bytes]:
    return [
        part.tobytes()
        for track in run.tracks
        for part in (track.trace.registers, track.trace.sizes, track.trace.writes.address, track.trace.writes.value)
    ]


def test_the_same_seed_gives_the_same_run_to_the_last_byte() -> None:
    first, program = ran("threads", "x86_64", "dynamic"), built("threads", "x86_64", "dynamic")
    again, other = run_process(program), run_process(program, seed=6)
    assert columns(first) == columns(again)
    assert [track.thread for track in first.tracks] == [track.thread for track in again.tracks]
    assert columns(first) != columns(other) and first.stdout == other.stdout


def test_clocks_of_the_processor_are_the_runs_own() -> None:
    """The dynamic linker reads the time stamp counter."""
    run = run_process(built("hello", "x86_64", "dynamic"), ["abc"])
    assert columns(run) == columns(ran("hello", "x86_64", "dynamic", "abc"))


def test_a_budget_ends_a_run_and_what_ran_stays() -> None:
    whole = ran("hello", "arm64", "static", "abc")
    run = run_process(built("hello", "arm64", "static"), ["abc"], budget=2000)
    assert run.status is None and "steps are used up" in run.ending and run.steps == 2000
    trace = run.tracks[0].trace
    assert np.array_equal(trace.registers, whole.tracks[0].trace.registers[:2000])
    assert isinstance(trace.end, EmulationError) and "budget" in str(trace.end)


def test_images_are_those_that_may_execute() -> None:
    run = ran("exceptions", "x86_64", "dynamic")
    names = [loaded.image.path.name for loaded in run.images]
    assert names[0].startswith("exceptions") and names[1].startswith("ld-linux")
    assert sorted(name.split(".")[0] for name in names[2:]) == ["libc", "libgcc_s", "libm", "libstdc++"]
    pcs = np.unique(run.tracks[0].trace.pc)
    assert all(any(loaded.covers(pc) for loaded in run.images) for pc in pcs.tolist())


def test_standard_input_and_shown_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("from a file")
    run = run_process(
        built("files", "x86_64", "dynamic"), ["/data/words"], stdin=b"from input", folders={"/data": tmp_path}
    )
    assert b"from a file" in run.stdout and b"from input" in run.stdout


def test_a_file_that_is_no_program_is_told(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n")
    with pytest.raises(ImageError, match="text: at offset 0x0"):
        run_process(text)
    with pytest.raises(ImageError, match="No such file"):
        run_process(tmp_path / "nothing")
    with pytest.raises(UsageError, match="no such file or folder"):
        run_process(built("hello", "x86_64", "static"), folders={"/data": tmp_path / "nothing"})
    with pytest.raises(ImageError, match="name a sysroot"):
        run_process(built("hello", "x86_64", "dynamic"), sysroot=tmp_path)
    with pytest.raises(UsageError, match="bytes"):
        run_process(built("hello", "x86_64", "static"), ["x" * (1 << 20)])


def test_damaged_programs_end_in_a_sentence(tmp_path: Path) -> None:
    content = bytearray(built("hello", "x86_64", "static").read_bytes())
    random, damaged = Random(3), tmp_path / "damaged"
    endings = set()
    for _ in range(16):
        copy = bytearray(content)
        for _ in range(random.randrange(1, 4)):
            copy[random.randrange(24, 64 + 56 * 10)] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        damaged.write_bytes(copy)
        try:
            run = run_process(damaged, budget=3000, memory=64 << 20)
            endings.add("ran")
            assert run.status is not None or run.why
        except ImageError:
            endings.add("refused")
    assert endings == {"ran", "refused"}


def test_a_track_without_its_journal_would_be_another_one() -> None:
    """The journal is what memory is read from: without it a stack has other words."""
    trace = ran("threads", "x86_64", "dynamic").tracks[1].trace
    empty = replace(
        trace.writes, **{name: getattr(trace.writes, name)[:0] for name in ("step", "address", "size", "value")}
    )
    at = len(trace) // 2
    sp = int(trace.sp[at])
    assert trace.memory(at).read(sp, 256) != replace(trace, writes=empty).memory(at).read(sp, 256)


def test_a_segment_may_have_nothing_in_the_file_and_begin_inside_a_page(tmp_path: Path) -> None:
    """lld gives zeroed data a segment of its own behind the read-only part; here the stack's entry becomes it."""
    original = built("hello", "x86_64", "static")
    content = bytearray(original.read_bytes())
    start, (size, count) = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<HH", content, 54)
    entries = [start + i * size for i in range(count)]
    (stack,) = (at for at in entries if struct.unpack_from("<I", content, at)[0] == 0x6474E551)
    struct.pack_into("<II6Q", content, stack, 1, 6, 0x288, 0x900288, 0x900288, 0, 8, 0x1000)
    path = tmp_path / original.name
    path.write_bytes(content)
    run = run_process(path, ["abc"])
    assert run.status == 7 and run.stdout == ran("hello", "x86_64", "static", "abc").stdout


# What a process costs in memory: what its threads have written, not what they have mapped.


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


def test_two_hundred_threads_at_once() -> None:
    run = run_process(built("many_threads", "x86_64", "static"), ["200"])
    assert (run.stdout, run.status, len(run.tracks)) == (b"200 threads, 19900\n", 0, 201)


# Processes that have children: what they print natively they print here, and each has a truth of its own.


WAYS = ("fork", "pipe", "signals", "broken", "exec", "vfork", "group", "poll", "orphan", "missing")
LEFT_TO_NATIVE = {"exec", "vfork"}  # qemu-user hands execve to the host, which has no file there
CHANNELS = (
    *(("channels", way) for way in ("echo", "pair", "local", "datagrams", "nonblocking", "watching")),
    *(("channels", way) for way in ("named", "anonymous", "memfd", "shm")),
    *(("arrivals", way) for way in ("mapped", "twice", "rights", "senders", "timer", "taken")),
)
SCRIPTS = (
    "echo a b | tr a-z A-Z | cat; echo $?",
    "x=$(echo hi | wc -c); echo $x; (exit 3); echo $?",
    "sleep 1 & wait $!; echo $?; false || echo or; ! true; echo $?",
    "trap 'echo term' TERM; kill -TERM $$; (kill -KILL $(exec sh -c 'echo $PPID')) ; echo $?",
    "printf '3\\n1\\n2\\n' | sort | head -n 2 | while read x; do echo got $x; done",
    "echo one > /tmp/x-$$; cat < /tmp/x-$$ | sed s/one/two/; rm /tmp/x-$$; test -e /tmp/x-$$ || echo gone",
    "exec expr 6 \\* 7",
    "no-such-program 2> /dev/null; echo $?; /bin 2> /dev/null; echo $?",
    "yes | head -n 3; seq 3 | xargs -n 1 echo n",
    "set -- a b; for i; do echo $i; done | awk '{ print NR, $1 }'",
    "cat <<end | tee /dev/null | grep -c x\nx\ny\nx\nend",
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("target", TARGETS)
def test_children_do_what_they_do_elsewhere(way: str, target: str) -> None:
    run = ran("children", target, "static", way)
    there = "x86_64" if way in LEFT_TO_NATIVE and target != "x86_64" else target
    if there == "x86_64" and not host_is_x86_64():
        pytest.skip("it is compared with a native run, and this machine is not x86_64")
    assert told(run) == elsewhere("children", there, "static", way)
    assert bool(run.children) == (way != "missing")


@pytest.mark.parametrize(("name", "way"), CHANNELS)
@pytest.mark.parametrize("target", TARGETS)
def test_what_processes_tell_each_other_is_what_they_do_elsewhere(name: str, way: str, target: str) -> None:
    """Sockets, epolls, counters, timers, shared memory: each program talks to itself and to its children."""
    run = ran(name, target, "static", way)
    assert told(run) == elsewhere(name, target, "static", way)
    assert not run.refused


def test_code_that_a_process_wrote_has_the_names_of_its_perf_map() -> None:
    """The last name of an address; what is nowhere is nothing. Tables are asked for there, and have no row."""
    run = ran("written", "x86_64", "static")
    assert run.stdout == b"16\n"
    trace, named = run.tracks[0].trace, run.images[-1]
    assert [each.name for each in named.image.symbols] == ["py::first:/here/a b.py", "py::second:/here/a b.py"]
    assert named.image.content[:4] == b"\x7fELF" and not named.covers(trace.images[-1].entry - 1)
    calls = run.images[0].image.symbol_named("called")
    assert calls is not None
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


def test_nobody_says_that_he_is_another_process() -> None:
    """Tests may be run by a user who may: so what is printed stands here."""
    said = ran("arrivals", "x86_64", "static", "liar").stdout.decode().splitlines()
    assert said == ["as another -1 Operation not permitted", "as itself 5 ", "2 truth", "1"]


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


@pytest.mark.skipif(not host_is_x86_64(), reason="runs programs of the host")
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_print_what_they_print_natively(shell: str, script: str) -> None:
    run = run_process(shell, ["-c", script])
    native = subprocess.run(
        [shell, "-c", script], stdin=subprocess.DEVNULL, capture_output=True, env={"PATH": "/usr/bin:/bin", "LANG": "C"}
    )
    assert told(run) == (native.stdout, native.returncode), run.stderr


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
            proof = prove(thread.watched)
            assert proof.disagreed == proof.unfollowed == 0, proof.dissents
            assert proof.steps > 1_000
        assert judge_process(process, UNWINDERS["eh_frame"]).unexplained == 0


@pytest.mark.parametrize("way", ["once", "again", "made", "threads", "queued"])
@pytest.mark.parametrize("target", TARGETS)
def test_timers_send_the_signals_that_they_send_elsewhere(way: str, target: str) -> None:
    run = run_process(built("timers", target, "static"), [way])
    assert told(run) == elsewhere("timers", target, "static", way)
    assert not run.refused


@pytest.mark.parametrize("target", ["x86_64", "thumb"])
def test_a_timer_interrupts_a_function_anywhere_and_its_stack_is_true(target: str) -> None:
    """The first steps of a program that a timer interrupts again and again; its handler is called by the kernel."""
    run = run_process(built("timers", target, "static"), ["again"], budget=420_000)
    (thread,) = watch_process(run).threads
    trace = thread.watched.trace
    arrived = np.flatnonzero(trace.sizes == 0)
    names = [describe(trace.images, int(trace.pc[step])).partition("+")[0] for step in arrived]
    assert names.count("deep") >= 3 and len(set(trace.pc[arrived].tolist())) >= 3
    proof = prove(thread.watched)
    assert proof.disagreed == proof.unfollowed == 0, proof.dissents
    truth = observe(trace)
    for step in arrived.tolist():
        stack = truth.stack(step + 1).frames
        assert describe(trace.images, stack[0].pc).startswith("counts") and stack[2].pc == trace.pc[step]


def test_a_timer_goes_off_at_the_same_steps_for_the_same_seed() -> None:
    program = built("timers", "x86_64", "static")
    first, again, other = (run_process(program, ["again"], budget=412_000, seed=seed) for seed in (1, 1, 2))
    steps = [np.flatnonzero(each.tracks[0].trace.sizes == 0).tolist() for each in (first, again, other)]
    assert every_row(first) == every_row(again) and steps[0] == steps[1] and len(steps[0]) == 4
    # A real-time timer is precise to the step: 100 microseconds are 100,000 steps.
    assert set(np.diff(steps[0]).tolist()) == {100_000}


def test_timers_that_wake_nobody_do_not_keep_a_run_going() -> None:
    run = ran("timers", "x86_64", "static", "in vain")
    assert run.status is None and run.why == "every thread waits, and nothing can wake one: a signal"


def test_the_memory_of_a_child_is_its_own() -> None:
    """One variable, counted up by the child only."""
    run = ran("children", "x86_64", "static", "fork")
    symbol = run.images[0].image.symbol_named("shared")
    assert symbol is not None
    place = symbol.address + run.images[0].bias
    traces = run.tracks[0].trace, run.children[0].tracks[0].trace
    found = [int.from_bytes(trace.memory(len(trace) - 1).read(place, 4), "little") for trace in traces]
    assert found == [1, 2]


def every_row(run: ProcessRun) -> list[bytes]:
    return [track.trace.registers.tobytes() for each in (run, *run.children) for track in each.tracks]


def test_the_same_seed_gives_the_same_tree() -> None:
    first, program = ran("children", "x86_64", "static", "group"), built("children", "x86_64", "static")
    again, other = run_process(program, ["group"]), run_process(program, ["group"], seed=8)
    assert every_row(first) == every_row(again) != every_row(other)
    assert first.stdout == other.stdout and len(first.children) == 3


def test_what_a_call_that_is_not_emulated_ends_is_its_process() -> None:
    run = ran("children", "x86_64", "static", "unknown")
    (child,) = run.children
    assert (run.status, run.stdout) == (0, b"signal 31\n")
    assert child.status is None and "lookup_dcookie is not emulated, called at syscall+0x" in child.why


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


# Processes in pieces, and the tracks of their threads.


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


def test_what_cannot_be_cut_says_so() -> None:
    with pytest.raises(UsageError, match="handles a signal"):
        in_pieces("signals", "x86_64", 10_000)


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
