"""Whatever a foreign program does, it is an outcome: typed, told in a sentence, and over in time."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import testbed
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.protocol import foreign_unwinder as room
from testbed.protocol.conversation import Conversation, readable, session_lines, snapshot_line
from testbed.protocol.foreign_unwinder import CRASHES, HANGS, ForeignProgram, foreign_unwinder
from testbed.runs.run import Run
from testbed.trace import Memory, Snapshot
from testbed.words.errors import BrokenAnswer, ForeignStop, ToolCrashed, ToolHung, UnwindError, UsageError
from testbed.words.outcome import Outcome

SCRIPT = str(Path(__file__).with_name("hostile.py"))
SOON = 0.3  # seconds for an answer of one that will not give it


def command(mode: str, *more: str) -> tuple[str, ...]:
    return (sys.executable, "-S", SCRIPT, mode, *more)


@pytest.fixture(scope="module")
def run() -> Run:
    return testbed.run("leaf_call", arch="x86_64")


@pytest.fixture
def no_children_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def children() -> set[str]:
    """The processes that are ours, dead ones that nobody waited for too."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def said(mode: str, run: Run, *, seconds: float = 20.0) -> UnwindError | None:
    program = ForeignProgram(command(mode), seconds)
    program.greet()
    backtrace = program.unwind(run.trace.snapshot(5))
    if program.running is not None:
        program.running.process.close()
    assert [frame.pc for frame in backtrace.frames] == [run.trace.snapshot(5).pc]
    return backtrace.stopped


@pytest.mark.parametrize(
    ("mode", "kind", "words"),
    [
        ("right", ForeignStop, "I know nothing"),
        ("escapes", ForeignStop, r"\x1b[2J\nover\r"),
        ("chatty", ForeignStop, "I know nothing"),
        ("refuses", ForeignStop, "no symbols"),
        ("nonsense", BrokenAnswer, "it wrote a line that is no JSON: nonsense"),
        ("a list", BrokenAnswer, "a line that is no JSON object: [1, 2]"),
        ("no type", BrokenAnswer, 'an object without a "type"'),
        ("half", ToolCrashed, "exit status 0, and wrote half a line and owes frames of snapshot 1"),
        ("utf-16", BrokenAnswer, "is that UTF-16?"),
        ("latin-1", BrokenAnswer, "not UTF-8"),
        ("nan", BrokenAnswer, "NaN is no number of JSON"),
        ("deep", BrokenAnswer, "no JSON"),
        ("digits", BrokenAnswer, "no JSON"),
        ("another id", BrokenAnswer, "answered id 0 when snapshot 1 was asked"),
        ("another type", BrokenAnswer, 'answered a "snapshot" with "backtrace": "frames" is expected'),
        ("gigabytes", BrokenAnswer, "more than 16 MiB"),
        ("dies", ToolCrashed, "it was killed by SIGABRT; it printed: assertion failed: row != NULL"),
        ("exits", ToolCrashed, "exit status 3"),
        ("ends", ToolCrashed, "exit status 0, and owes frames of snapshot 1"),
        ("closes its output", ToolCrashed, "it owes frames of snapshot 1"),
        ("reads too much", BrokenAnswer, "asked for 1099511627776 bytes at once"),
        ("reads below zero", BrokenAnswer, 'it asked wrongly, in a "read": "address" is no number of 64 bits: -0x8'),
        ("no image", BrokenAnswer, "asked for the file of image 7: there are 1"),
        ("no frames", BrokenAnswer, 'it answered snapshot 1 wrongly: "frames" is empty'),
        ("frames are text", BrokenAnswer, '"frames" is no list'),
        ("a frame is text", BrokenAnswer, 'frame 0 is no object: "main"'),
        ("another pc", BrokenAnswer, "frame 0 is at 0x10: it is the interrupted one"),
        ("negative pc", BrokenAnswer, '"pc" of frame 1 is no number of 64 bits: -0x1'),
        ("huge pc", BrokenAnswer, '"pc" of frame 1 is no number of 64 bits: 0x10000000000000000'),
        ("float pc", BrokenAnswer, "is no number of 64 bits: 1.5"),
        ("true pc", BrokenAnswer, "is no number of 64 bits: true"),
        ("wild cfa", BrokenAnswer, '"cfa" of frame 0 is no number of 64 bits: "sp"'),
        ("a register", BrokenAnswer, 'frame 1 has a register "bx", which x86_64 has not'),
        ("a million", BrokenAnswer, "wrote more than 16 MiB"),
        ("many frames", BrokenAnswer, "5000 frames: at most 4096 are read"),
        ("no end", BrokenAnswer, 'neither "root":true and "stopped"'),
        ("both ends", BrokenAnswer, 'both "root":true and "stopped"'),
    ],
)
@pytest.mark.usefixtures("no_children_left")
def test_what_it_says_is_told(mode: str, kind: type[UnwindError], words: str, run: Run) -> None:
    stop = said(mode, run)
    assert type(stop) is kind
    assert words in str(stop)


@pytest.mark.parametrize("mode", ["silent", "reads for ever", "closes its input"])
@pytest.mark.usefixtures("no_children_left")
def test_one_that_never_answers_is_stopped(mode: str, run: Run) -> None:
    before = time.monotonic()
    stop = said(mode, run, seconds=SOON)
    assert type(stop) is ToolHung
    assert "gave no answer (frames of snapshot 1, within 0.3 s)" in str(stop)
    assert time.monotonic() - before < 300


def test_what_it_forked_ends_with_it(run: Run, tmp_path: Path) -> None:
    program = ForeignProgram(command("forks", str(tmp_path / "pid")), SOON)
    program.greet()
    program.unwind(run.trace.snapshot(5))
    group = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 60
    while _lives(group) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _lives(group)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_answer_too_many_is_found_at_the_next_snapshot(run: Run) -> None:
    program = ForeignProgram(command("twice"), 20)
    program.greet()
    stops = [program.unwind(run.trace.snapshot(step)).stopped for step in range(3)]
    assert [type(stop) for stop in stops] == [ForeignStop, BrokenAnswer, ForeignStop]
    assert "answered id 1 when snapshot 2 was asked" in str(stops[1])


def test_one_that_dies_is_started_again_but_not_for_ever(run: Run) -> None:
    program = ForeignProgram(command("dies at times"), 20)
    program.greet()
    kinds = [type(program.unwind(run.trace.snapshot(step)).stopped) for step in range(9)]
    assert kinds == [ForeignStop, ForeignStop, ToolCrashed] * 3
    program.crashes = CRASHES
    stop = program.unwind(run.trace.snapshot(3)).stopped
    assert str(stop) == f"it failed at {CRASHES} snapshots of this program; no more are asked"
    other = testbed.run("leaf_call", arch="arm64")  # of another program it is asked
    assert type(program.unwind(other.trace.snapshot(3)).stopped) is ForeignStop


def test_one_that_hangs_is_asked_a_few_times_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ALL_HANGS", HANGS + 1)
    program = ForeignProgram(command("silent"), 0.05)
    program.greet()
    stops = [program.unwind(run.trace.snapshot(step)).stopped for step in range(HANGS + 1)]
    assert all(type(stop) is ToolHung for stop in stops)
    assert f"it gave no answer to {HANGS} snapshots of this program" in str(stops[-1])
    again = program.unwind(run.trace.snapshot(0)).stopped
    assert str(again) == str(stops[0]) == "it gave no answer (frames of snapshot 1, within 0.05 s)"
    other = testbed.run("leaf_call", arch="arm64")
    stops = [program.unwind(other.trace.snapshot(step)).stopped for step in range(2)]
    assert f"it gave no answer to {HANGS + 1} snapshots; it is not asked any more" in str(stops[-1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("./no-such-unwinder --fast", "--unwinder-cmd './no-such-unwinder --fast' does not start: No such file"),
        ("/etc/passwd", "does not start: Permission denied"),
        ("'", "No closing quotation"),
        (" ", "--unwinder-cmd is empty"),
        (
            command("no hello"),
            "does not speak the protocol (docs/protocol.md): it wrote a line that is no JSON",
        ),
        (command("dies at the start"), "it ended with exit status 1; it printed: no licence found"),
        (command("another version"), "speaks protocol 2: this testbed speaks 1"),
    ],
)
def test_a_command_that_is_no_unwinder_is_a_mistake_of_use(words: str | tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as wrong:
        foreign_unwinder(words)
    assert message in str(wrong.value)


def test_a_program_that_is_no_program(tmp_path: Path) -> None:
    script = tmp_path / "unwinder"
    script.write_text("import sys\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match="it is no program; a script begins with a line such as #!/usr/bin"):
        foreign_unwinder(str(script))


def test_a_relative_path_and_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my folder"
    folder.mkdir()
    program = folder / "un'winder"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{SCRIPT}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    unwinder = foreign_unwinder("'./my folder/un'\"'\"'winder' \"right\"")
    assert unwinder.name == "hostile"
    assert unwinder.arches == {"x86_64", "arm64"}


def test_honest_stops_are_told_as_such_and_crashes_are_not(run: Run) -> None:
    def outcomes(unwinder: Unwinder) -> set[tuple[Outcome, bool]]:
        return {(verdict.outcome, verdict.unexplained) for verdict in testbed.judge_all(run, unwinder)}

    assert outcomes(foreign_unwinder(command("right"))) == {(Outcome.REFUSED, False), (Outcome.STOPPED, False)}
    assert outcomes(foreign_unwinder(command("exits"))) == {(Outcome.CRASHED, True)}
    assert outcomes(foreign_unwinder(command("silent"), seconds=0.05)) == {(Outcome.HUNG, True)}


# What our lines say: addresses, what can be read, files.

# Says as its reason what it read: 16 bytes of the image's file, 8 beyond its end, and the memory behind SP.
READER = """
import json, sys
def ask(**what):
    print(json.dumps(what), flush=True)
    return json.loads(sys.stdin.readline())["bytes"]
for line in sys.stdin:
    at = json.loads(line)
    if at["type"] == "hello":
        answer = {"type": "hello", "protocol": 1, "stack_above": 16, "stack_below": "0x8"}
    elif at["type"] == "session":
        image = json.loads(sys.stdin.readline())
        head = ask(type="read_file", image=0, offset=0, size=16)
        beyond = ask(type="read_file", image=0, offset=image["size"] - 8, size=64)
        answer = {"type": "ready"}
    else:
        sp = int(at["registers"]["rsp"], 16)
        stack = ask(type="read", address=sp, size="0x10")
        assert int(at["stack_address"], 16) == sp - 8 and at["stack"][16:] == stack
        said = f"{head} {len(beyond)} {ask(type='read', address=8, size=8)}."
        answer = {"type": "frames", "id": at["id"], "frames": [{"pc": at["registers"]["rip"]}], "stopped": said}
    print(json.dumps(answer), flush=True)
"""


def test_a_file_and_memory_are_read_by_request(run: Run) -> None:
    program = Conversation([sys.executable, "-S", "-c", READER], 20)
    stopped = program.unwind(run.trace.snapshot(8)).stopped
    program.process.close()
    assert str(stopped) == f"{run.built.path.read_bytes()[:16].hex()} 16 ."


def test_memory_is_read_as_far_as_it_is_mapped(run: Run) -> None:
    memory = Memory.of([(0x1000, b"abcd"), (0x1004, b"efgh"), (0x2000, b"xyz")])
    snapshot = replace(run.trace.snapshot(8), memory=memory)
    assert readable(snapshot, 0x1002, 4) == b"cdef", "mappings that touch are one"
    assert readable(snapshot, 0x1006, 100) == b"gh"
    assert readable(snapshot, 0x2001, 2) == b"yz"
    assert readable(snapshot, 0x1008, 1) == readable(snapshot, 1 << 64, 8) == b""


@pytest.mark.parametrize("bias", [0, 0x5000_0000, -0x1000])
def test_an_image_lies_where_it_is_said_to(run: Run, bias: int) -> None:
    image = run.built.image
    loaded = LoadedImage(image, bias)
    session, line = session_lines(run.arch, (loaded,), None).splitlines()
    said = json.loads(line)
    assert json.loads(session)["pac_mask"] is None
    assert int(said["bias"], 16) == bias % (1 << 64)
    start = min(segment.address for segment in image.segments)
    end = max(segment.address + segment.size for segment in image.segments)
    assert (int(said["start"], 16), int(said["end"], 16)) == (start + bias, end + bias)
    assert said["size"] == image.path.stat().st_size
    assert Path(said["path"]) == image.path.absolute()


def test_frame_records_are_said_for_each_instruction_set() -> None:
    gcc = testbed.run("recursion", arch="arm32", recipe="gcc-O2-fp")
    for run, record in ((gcc, "r11-gcc"), (testbed.run("recursion", arch="arm32", recipe="clang-O0-fp"), "r11-clang")):
        said = json.loads(session_lines(run.arch, run.trace.images, 0).splitlines()[1])
        assert said["frame_records"] == {"a32": record, "thumb": "r7"}


def test_the_stack_begins_below_sp_and_ends_where_it_ends(run: Run) -> None:
    def stack(snapshot: Snapshot) -> tuple[int, str]:
        said = json.loads(snapshot_line(1, snapshot, 64, 32))
        return int(said["stack_address"], 16) - snapshot.sp, said["stack"]

    snapshot = run.trace.snapshot(8)
    assert stack(snapshot) == (-64, snapshot.memory.read(snapshot.sp - 64, 96).hex())
    for below, first in ((64, -64), (40, -32), (8, -8), (0, 0)):
        cut = replace(snapshot, memory=Memory.of([(snapshot.sp - below, bytes(below + 8))]))
        assert stack(cut) == (first, bytes(8 - first).hex())
    assert stack(replace(snapshot, memory=Memory.of([]))) == (0, "")
