"""Real programs do in the testbed what they do natively, or under qemu-user, and take no more memory than they use."""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from testbed.process import ProcessRun, run_process
from testbed.trace import Exited
from testbed.words.errors import EmulationError, ImageError, UsageError
from tests.process.builds import ALL, built, elsewhere, ran, told

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
    assert [track.begins > 0 for track in run.tracks] == [False, True, True]
    parent, child = run.tracks[0].trace, run.tracks[1].trace
    assert np.array_equal(child.registers[: run.tracks[1].begins], parent.registers[: run.tracks[1].begins])
    assert child.end == Exited(33)


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
