"""gdb's backtrace of a snapshot of any architecture, given to it by the remote protocol: nothing runs natively."""

from __future__ import annotations

import re
import subprocess
from functools import cache

import pytest

from testbed.campaign.names import true_frames
from testbed.naming.symbolize import Origin, symbolize
from testbed.remote import ShownSnapshot, serving
from testbed.runs.program_file import run_file
from testbed.runs.run import Run
from tests.image.debugged import DWARF_4, addr2line, built, built_by_gcc, tool

# gdb finds the frames itself, by the file's unwind tables; then names, lines, inlined and tail-called frames.
_FRAME = re.compile(r"^#\d+\s+(?:0x(?P<pc>[0-9a-f]+) in )?(?P<name>\w+) \(.* at (?:\./)*[^:]+:(?P<line>\d+)$", re.M)
FILES = {
    "clang": lambda program, arch: built(program, arch, "clang-O2", DWARF_4),
    "clang Thumb": lambda program, arch: built(program, arch, "clang-thumb-O2", DWARF_4),
    "gcc": lambda program, arch: built_by_gcc(program, arch, 5),
}
PLACES = {
    "inline_chain": ("leaf#1", "leaf#2", "leaf#3", "at_deepest", "at_level2", "at_worker"),
    "tail_chain": ("first", "second", "last", "leaf"),
    "tail_branches": ("left", "meet#2", "leaf#1"),
}
CELLS = [
    (maker, arch, program, place)
    for maker, arch in (
        ("clang", "arm64"),
        ("clang", "arm32"),
        ("clang Thumb", "arm32"),
        ("gcc", "arm64"),
        ("gcc", "arm32"),
    )
    for program, places in PLACES.items()
    for place in places
    # clang lists only tail calls for Thumb; without the other call sites there is no chain to find.
]


@cache
def run_of(maker: str, arch: str, program: str) -> Run:
    return run_file(FILES[maker](program, arch).path)


def gdb_says(run: Run, step: int) -> list[tuple[str, int | None, int]]:
    """(function, the address where gdb shows one, line), down to main."""
    with serving(lambda: ShownSnapshot(run[step]).answer) as port:
        commands = ("set debuginfod enabled off", f"target remote 127.0.0.1:{port}", "bt", "disconnect")
        arguments = [part for command in commands for part in ("-ex", command)]
        done = subprocess.run(
            [tool("gdb-multiarch", "gdb-multiarch"), "-q", "-nx", "-batch", run.built.path, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    found = [(m["name"], int(m["pc"], 16) if m["pc"] else None, int(m["line"])) for m in _FRAME.finditer(done.stdout)]
    assert found, done.stdout + done.stderr
    names = [name for name, _, _ in found]
    return found[: names.index("main") + 1] if "main" in names else found


@pytest.mark.parametrize(("maker", "arch", "program", "place"), CELLS)
def test_names_lines_inlined_and_tail_calls_are_gdbs(maker: str, arch: str, program: str, place: str) -> None:
    run = run_of(maker, arch, program)
    step = run.step_at(place)
    theirs = gdb_says(run, step)
    named = symbolize(run.trace.images, true_frames(run, step))
    ours = [(f.function, f.pc, f.line.line if f.line else 0) for f in named.frames]
    ours = ours[: [name for name, _, _ in ours].index("main") + 1]
    assert [name for name, _, _ in theirs] == [name for name, _, _ in ours]
    for i, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        # Where gcc gives one address to two lines, gdb takes the one to stop at, binutils and we the one that has code.
        if their[2] != our[2]:
            assert maker == "gcc" and i == 0
            assert addr2line(run.built.image, [int(run.trace.pc[step])])[0][0][2] == our[2]
    assert all(a[1] in (None, b[1]) for a, b in zip(theirs, ours, strict=True))
    if program == "tail_chain" and maker != "clang Thumb":
        left = {"first": 0, "second": 1, "last": 2, "leaf": 2}[place]
        assert [f.origin for f in named.frames].count(Origin.TAIL_CALL) == left
