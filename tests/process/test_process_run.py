"""A run in the testbed: what it is given and what it keeps; the same inputs, the same run."""

import struct
from pathlib import Path
from random import Random

import numpy as np
import pytest

from testbed.process import run_process
from testbed.words.errors import EmulationError, ImageError, UsageError
from tests.process.builds import built, columns, ran


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
    with pytest.raises(ImageError, match="--sysroot DIRECTORY"):
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


def test_timers_that_wake_nobody_do_not_keep_a_run_going() -> None:
    run = ran("timers", "x86_64", "static", "in vain")
    assert run.status is None and run.why == "every thread waits, and nothing can wake one: a signal"
