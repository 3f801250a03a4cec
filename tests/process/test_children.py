"""Processes that have children: each has steps, a stack, memory and an end of its own; the same seed, the same tree."""

import subprocess
import sys

import numpy as np
import pytest

from testbed.image import describe
from testbed.process import run_process
from testbed.profiling.judge import judge_process, watch_process
from testbed.trace import Exited, Trace
from testbed.truth import observe
from tests.process.builds import TARGETS, built, columns, ran
from tests.witness.witnessed import agreed
from unwinders import UNWINDERS


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
