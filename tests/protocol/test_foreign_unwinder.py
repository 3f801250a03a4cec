"""Whatever a foreign program does, it is an outcome: typed, told in a sentence, and over in time."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import testbed
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.protocol import conversation
from testbed.protocol import foreign_unwinder as room
from testbed.protocol.conformance import conformance
from testbed.protocol.conversation import Conversation, readable, session_lines, snapshot_line
from testbed.protocol.example import EXAMPLES, PAGE, SCHEMA, write_example
from testbed.protocol.foreign_unwinder import CRASHES, HANGS, ForeignProgram, foreign_unwinder
from testbed.runs.run import Run
from testbed.trace import Memory, Snapshot
from testbed.words.child import Child
from testbed.words.errors import BrokenAnswer, ForeignStop, ToolCrashed, ToolHung, UnwindError, UsageError
from testbed.words.outcome import Outcome
from tests.corpus import script, tool
from unwinders import UNWINDERS

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
    with pytest.raises(UsageError, match="it is no program; a script begins with a line such as #!/usr/bin"):
        foreign_unwinder(str(script(tmp_path / "unwinder", "import sys\n")))


def test_a_relative_path_and_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my folder"
    folder.mkdir()
    script(folder / "un'winder", f'#!/bin/sh\nexec "{sys.executable}" -S "{SCRIPT}" "$@"\n')
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


# The examples, built as their pages say, in C, Rust, Go and Python: they speak the protocol, and say what is true.


ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / ".cargo" / "bin")])  # where rustup puts rustc
HOWTO = {"c": "apt install gcc", "rust": "apt install rustc", "go": "apt install golang-go"}


@pytest.fixture(scope="module", params=list(EXAMPLES))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The language of an example, and the command that starts it, in the folder where it was built."""
    example = EXAMPLES[request.param]
    if example.build and shutil.which(example.compiler, path=PATH) is None:
        pytest.skip(f"{example.compiler} is not installed: {HOWTO[example.language]}")
    folder = tmp_path_factory.mktemp(example.language)
    write_example(example, folder)
    if example.build:
        words = [shutil.which(example.build.split()[0], path=PATH) or "", *example.build.split()[1:]]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": PATH})
        assert done.returncode == 0, done.stderr
        assert done.stderr == "", "the compiler warns"
    before = os.getcwd()
    os.chdir(folder)
    yield example.language, example.command
    os.chdir(before)


@pytest.fixture(scope="module", params=["x86_64", "arm64"])
def run_example(request: pytest.FixtureRequest) -> Run:
    return testbed.run("recursion", arch=request.param, recipe="clang-O0-fp")


def test_an_example_says_what_our_own_unwinder_says(
    built: tuple[str, str], run_example: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind the end of the stack that comes with a snapshot: memory by request."""
    language, command = built
    monkeypatch.setattr(conversation, "STACK_ABOVE", 8)
    unwinder = foreign_unwinder(command)
    assert unwinder.name == f"frame_pointers_in_{language}"
    asked = range(0, len(run_example), 5)
    ours = [UNWINDERS["fp_chain"].unwind(run_example.trace.snapshot(step)) for step in asked]
    theirs = [unwinder.unwind(run_example.trace.snapshot(step)) for step in asked]
    assert [[f.pc for f in each.frames] for each in theirs] == [[f.pc for f in each.frames] for each in ours]
    assert [each.stopped is None for each in theirs] == [each.stopped is None for each in ours]
    pointer = run_example.arch.frame_pointers[0]
    for mine, other in zip(ours, theirs, strict=True):
        claimed = [frame.registers[pointer] for frame in other.frames[1:]]
        assert claimed == [frame.registers[pointer] for frame in mine.frames[1:]]


def test_an_example_speaks_the_protocol(built: tuple[str, str], run_example: Run) -> None:
    remarks = list(
        conformance(built[1].split(), {run_example.arch.name: [run_example.trace.snapshot(s) for s in (0, 9, 40)]}, 20)
    )
    assert [str(remark) for remark in remarks if remark.right is False] == []
    assert len(remarks) > 10


def test_every_line_between_them_is_one_of_the_schema(
    built: tuple[str, str], run_example: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[tuple[str, bytes]] = []
    send, line = Child.send, Child.line

    def sent(self: Child, data: bytes, until: float) -> None:
        lines.extend(("from_testbed", each) for each in data.splitlines())
        send(self, data, until)

    def came(self: Child, until: float, what: str = "") -> bytes:
        lines.append(("from_unwinder", line(self, until, what)))
        return lines[-1][1]

    monkeypatch.setattr(conversation, "STACK_ABOVE", 8)
    monkeypatch.setattr(Child, "send", sent)
    monkeypatch.setattr(Child, "line", came)
    program = Conversation(built[1].split(), 20)
    for step in range(0, len(run_example), 9):
        program.unwind(run_example.trace.snapshot(step))
    program.process.close()
    schema = json.loads(SCHEMA.read_text())
    for side, text in lines:
        Draft202012Validator({**schema, "oneOf": [{"$ref": f"#/$defs/{side}"}]}).validate(json.loads(text))
    assert {json.loads(text)["type"] for _, text in lines} == set(
        ["hello", "session", "image", "ready", "snapshot", "read", "bytes", "frames"]
    )


def test_what_we_write_needs_no_json_reader(run_example: Run) -> None:
    """As the page promises: no spaces, no key twice in a line."""
    snapshot = run_example.trace.snapshot(30)
    text = session_lines(run_example.arch, snapshot.images, None) + snapshot_line(1, snapshot, 128, 1024)
    for line in text.decode("ascii").splitlines():
        keys: list[str] = []

        def take(pairs: list[tuple[str, object]], keys: list[str] = keys) -> dict[str, object]:
            keys.extend(key for key, _ in pairs)
            return dict(pairs)

        said = json.loads(line, object_pairs_hook=take)
        assert len(keys) == len(set(keys))
        assert json.dumps(said, separators=(",", ":")) == line


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "my_unwinder.c").write_text("mine")
    with pytest.raises(UsageError, match=r"has my_unwinder.c already: give another folder"):
        write_example(EXAMPLES["c"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["my_unwinder.c"]
    with pytest.raises(UsageError, match=r"Not a directory|File exists"):
        write_example(EXAMPLES["c"], tmp_path / "my_unwinder.c")


def test_the_page_is_the_one_in_docs() -> None:
    assert PAGE.read_text() == (ROOT / "docs" / "protocol.md").read_text(), f"cp {PAGE} docs/protocol.md"


# The unwinder of docs/examples, by gimli in Rust: built from Debian's crates as its head says, and scored.

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "gimli_unwinder"
CRATES = Path("/usr/share/cargo/registry")


@pytest.fixture(scope="module")
def gimli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program."""
    cargo = tool("cargo", "cargo", PATH)
    for crate, package in [("gimli-0.27*", "librust-gimli-dev"), ("object-0.30*", "librust-object-dev")]:
        if not list(CRATES.glob(crate)):
            pytest.skip(f"{CRATES} has no {crate}: apt install {package} (of Debian 12)")
    folder = tmp_path_factory.mktemp("gimli")
    write_example(EXAMPLES["rust"], folder)
    for path in FOLDER.iterdir():
        shutil.copy(path, folder)
    debian = ["source.crates-io.replace-with='debian'", f"source.debian.directory='{CRATES}'"]
    words = [cargo, "build", "--offline", *(word for each in debian for word in ("--config", each))]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": PATH})
    assert done.returncode == 0, done.stderr
    assert "warning: unused" not in done.stderr
    return folder / "target" / "debug" / "gimli_unwinder"


@pytest.mark.everything
def test_it_is_scored_by_one_command(gimli: Path) -> None:
    """Right nearly everywhere; where it is not, each by what it is: `.eh_frame` and, without it, frame records."""
    words = [sys.executable, "-m", "testbed.cli", "score", "--unwinder-cmd", str(gimli), "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    (mine,) = card["unwinders"]
    assert mine["name"] == "gimli"
    assert mine["crashes_and_hangs"] == 0
    assert set(mine["arches"]) == {"x86_64", "arm64"}
    for arch, own in mine["arches"].items():
        (records,) = (known for known in card["board"][arch] if known["name"] == "fp_chain")
        assert own["exact"] > records["exact"], "tables are where there are no frame records"
    assert mine["overall"]["lying"] > 0, "it believes tables that are wrong, and frame pointers where there is none"
