"""The examples, built as their pages say, in C, Rust, Go and Python: they speak the protocol, and say what is true."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import testbed
from testbed.protocol import conversation
from testbed.protocol.conformance import conformance
from testbed.protocol.conversation import Conversation
from testbed.protocol.example import EXAMPLES, PAGE, SCHEMA, write_example
from testbed.protocol.foreign_unwinder import foreign_unwinder
from testbed.runs.run import Run
from testbed.words.child import Child
from testbed.words.errors import UsageError
from unwinders import UNWINDERS

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
def run(request: pytest.FixtureRequest) -> Run:
    return testbed.run("recursion", arch=request.param, recipe="clang-O0-fp")


def test_an_example_says_what_our_own_unwinder_says(
    built: tuple[str, str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind the end of the stack that comes with a snapshot: memory by request."""
    language, command = built
    monkeypatch.setattr(conversation, "STACK_ABOVE", 8)
    unwinder = foreign_unwinder(command)
    assert unwinder.name == f"frame_pointers_in_{language}"
    asked = range(0, len(run), 5)
    ours = [UNWINDERS["fp_chain"].unwind(run.trace.snapshot(step)) for step in asked]
    theirs = [unwinder.unwind(run.trace.snapshot(step)) for step in asked]
    assert [[f.pc for f in each.frames] for each in theirs] == [[f.pc for f in each.frames] for each in ours]
    assert [each.stopped is None for each in theirs] == [each.stopped is None for each in ours]
    pointer = run.arch.frame_pointers[0]
    for mine, other in zip(ours, theirs, strict=True):
        claimed = [frame.registers[pointer] for frame in other.frames[1:]]
        assert claimed == [frame.registers[pointer] for frame in mine.frames[1:]]


def test_an_example_speaks_the_protocol(built: tuple[str, str], run: Run) -> None:
    remarks = list(conformance(built[1].split(), {run.arch.name: [run.trace.snapshot(s) for s in (0, 9, 40)]}, 20))
    assert [str(remark) for remark in remarks if remark.right is False] == []
    assert len(remarks) > 10


def test_every_line_between_them_is_one_of_the_schema(
    built: tuple[str, str], run: Run, monkeypatch: pytest.MonkeyPatch
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
    for step in range(0, len(run), 9):
        program.unwind(run.trace.snapshot(step))
    program.process.close()
    schema = json.loads(SCHEMA.read_text())
    for side, text in lines:
        Draft202012Validator({**schema, "oneOf": [{"$ref": f"#/$defs/{side}"}]}).validate(json.loads(text))
    assert {json.loads(text)["type"] for _, text in lines} == set(
        ["hello", "session", "image", "ready", "snapshot", "read", "bytes", "frames"]
    )


def test_what_we_write_needs_no_json_reader(run: Run) -> None:
    """As the page promises: no spaces, no key twice in a line."""
    from testbed.protocol.conversation import session_lines, snapshot_line

    snapshot = run.trace.snapshot(30)
    text = session_lines(run.arch, snapshot.images, None) + snapshot_line(1, snapshot, 128, 1024)
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
    cargo = shutil.which("cargo", path=PATH)
    if cargo is None:
        pytest.skip("cargo is not installed: apt install cargo")
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
    (mine,) = json.loads(done.stdout)["unwinders"]
    assert mine["name"] == "gimli"
    assert mine["crashes_and_hangs"] == 0
    assert set(mine["arches"]) == {"x86_64", "arm64"}
    assert mine["overall"]["exact"] > 0.97 * mine["overall"]["sites"], "as when it was written, 97.6 %"
    assert mine["overall"]["lying"] > 0, "it believes tables that are wrong, and frame pointers where there is none"
