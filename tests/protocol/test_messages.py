"""What our lines say: addresses, what can be read, files."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import testbed
from testbed.image import LoadedImage
from testbed.protocol.conversation import Conversation, readable, session_lines, snapshot_line
from testbed.runs.run import Run
from testbed.trace import Memory, Snapshot

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


@pytest.fixture(scope="module")
def run() -> Run:
    return testbed.run("leaf_call", arch="x86_64")


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
