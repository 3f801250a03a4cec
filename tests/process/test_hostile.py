"""Programs that mean harm or take too much, and what a process cannot have."""

import errno
import hashlib
import os
import signal
import socket
import stat
from pathlib import Path

import pytest

from testbed.image import describe
from testbed.process import ProcessRun, run_process
from testbed.process.file_tree import FileNode, FileTree
from testbed.process.open_files import open_in
from testbed.process.scheduling import SLICE
from testbed.process.state import MOST_PROCESSES
from testbed.process.threads import Refusal
from testbed.profiling.judge import judge_process, watch_process
from testbed.truth import observe
from testbed.words.errors import EmulationError
from tests.process.builds import TARGETS, built, ran
from unwinders import UNWINDERS

SECRET = "the host's own words"
# What a process may well do: in its own layer of files, or with nothing behind it.
ALLOWED = {
    "folder",
    "symlink",
    "chmod",
    "write own",
    "own again",
    "unlink own",
    "create",
    "../../../../../../../../..",  # its own root
    "socket",
    "inet",
}


def contents(root: Path) -> dict[str, str]:
    """Every file, folder and link below a folder, with what is in it and when it changed."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder) / name
            about = os.lstat(path)
            data = os.readlink(path) if path.is_symlink() else path.read_bytes().hex() if path.is_file() else ""
            found[str(path)] = f"{about.st_mode} {about.st_mtime_ns} {hashlib.sha256(data.encode()).hexdigest()}"
    return found


@pytest.fixture(scope="module", params=["x86_64", "arm64", "thumb"])
def attack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ProcessRun, Path, bool]:
    """The run, its host folder, and whether that is afterwards what it was before."""
    root = tmp_path_factory.mktemp("host")
    (root / "secret").write_text(SECRET)
    shown = root / "shown"
    shown.mkdir()
    (shown / "own").write_text("shown words")
    (shown / "absolute").symlink_to(root / "secret")
    (shown / "relative").symlink_to("../secret")
    (shown / "folder").symlink_to("..")
    os.mkfifo(shown / "pipe")
    before = contents(root)
    written = tmp_path_factory.mktemp("written")
    program = built("hostile", request.param, "static")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        given = [str(root / "secret"), "/shown", port]
        run = run_process(program, given, folders={"/shown": shown}, written=written)
    return run, written, contents(root) == before


def attempts(run: ProcessRun) -> dict[str, int]:
    lines = [line.rsplit(" ", 2) for line in run.stdout.decode().splitlines() if not line.startswith("  ")]
    return {name: int(result) for name, result, _ in lines}


def test_nothing_of_the_host_was_read_or_changed(attack: tuple[ProcessRun, Path, bool]) -> None:
    run, written, unchanged = attack
    assert run.status == 0, run.ending
    assert unchanged
    assert SECRET.encode() not in run.stdout and b"root:" not in run.stdout and b"escaped" not in run.stdout
    assert all(SECRET.encode() not in path.read_bytes() for path in written.rglob("*") if path.is_file())


def test_every_attempt_is_refused_but_for_those_on_its_own_layer(attack: tuple[ProcessRun, Path, bool]) -> None:
    found = attempts(attack[0])
    assert len(found) > 45
    assert {name for name, result in found.items() if result >= 0} == ALLOWED


def test_what_is_not_for_such_a_process_is_told(attack: tuple[ProcessRun, Path, bool]) -> None:
    told = {call.name for call in attack[0].refused}
    assert {"ptrace", "connect", "sendto", "bind", "mount", "chroot", "kill"} <= told


def test_what_it_writes_lies_in_the_folder_of_the_run(attack: tuple[ProcessRun, Path, bool]) -> None:
    run, written, _ = attack
    files = {path.relative_to(written).as_posix(): path.read_text() for path in written.rglob("*") if path.is_file()}
    assert files == {"shown/new": "spoiled"}
    assert b"content spoiledords" in run.stdout  # as it was for the process, until it was deleted


def test_limits_are_limits(attack: tuple[ProcessRun, Path, bool]) -> None:
    found = attempts(attack[0])
    assert found["huge map"] < 0 and found["many maps"] < 0 and found["many files"] < 0


# Programs that want too much: each ends by itself, by a signal, or by its budget, and reaches nothing outside.


BUDGET = 60_000
NOTHING = "-1 No such file or directory\n"


@pytest.mark.parametrize(
    ("what", "printed"),
    [
        ("memory", 2 * NOTHING),
        ("links", NOTHING),
        ("mapping", "Cannot allocate memory\n"),
        ("sparse", "-1 No space left on device\n"),
        ("packets", "1 Resource temporarily unavailable\n"),
        ("epolls", "-1 Too many levels of symbolic links\n11111000 5 Too many levels of symbolic links -1\n"),
        ("sharing", "16 Cannot allocate memory\n-1 -1\n1\n"),
        ("views", "32 Cannot allocate memory\n"),
        ("sending", "100 Invalid argument\n"),
        ("sending without end", "1024 Too many references: cannot splice\n"),  # descriptors on their way are counted
    ],
)
def test_what_would_reach_or_take_too_much_is_refused(what: str, printed: str) -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), [what], budget=2 * BUDGET)
    assert (run.stdout.decode(), run.status) == (printed, 0)


def test_processes_that_fork_without_end_are_refused_more_and_end_with_the_budget() -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["children"], budget=BUDGET)
    every = [run, *run.children]
    assert {(call.name, call.error) for each in every for call in each.refused} == {("clone", "EAGAIN")}
    assert MOST_PROCESSES <= len(every) < 2 * MOST_PROCESSES
    assert any("steps are used up" in each.ending for each in every)
    assert BUDGET <= sum(each.steps for each in every) <= BUDGET + SLICE


def test_children_one_after_the_other_have_one_budget() -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["one by one"], budget=BUDGET)
    steps = [each.steps for each in (run, *run.children)]
    assert len(steps) > 10 and BUDGET <= sum(steps) <= BUDGET + SLICE and "steps are used up" in run.why


@pytest.mark.parametrize(
    ("what", "waits"),
    [
        ("unread", "wait for a child, write"),  # a pipe that nobody reads
        ("waiting", "poll, read"),  # for each other
        ("ticking", "poll"),  # a timer that nobody may be told of
    ],
)
def test_processes_of_which_nothing_can_wake_one_end_with_a_sentence(what: str, waits: str) -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), [what], budget=BUDGET)
    assert run.why == f"every thread waits, and nothing can wake one: {waits}"


def test_sockets_that_are_sent_through_each_other_are_closed_one_after_the_other() -> None:
    before = len(os.listdir("/proc/self/fd"))
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["nested"], budget=2_000_000)
    assert (run.stdout, run.status) == (b"1000\n", 0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_sockets_without_end_are_refused() -> None:
    """Each of four processes fills as many as it may have descriptors; the budget is theirs together."""
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["sockets"], budget=3 * BUDGET)
    assert len(run.children) == 3 and any("steps are used up" in each.ending for each in (run, *run.children))


def test_endless_recursion_ends_at_the_end_of_the_stack() -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["recursion"], budget=BUDGET)
    assert run.signal == signal.SIGSEGV and "not mapped" in run.ending
    assert run.steps < BUDGET and len(run.tracks[0].trace) == run.steps


@pytest.mark.parametrize("target", TARGETS)
def test_the_instruction_that_crashes_is_the_last_step(target: str) -> None:
    """As a core file has it: the registers before it, and nothing of what it was not let write."""
    run = run_process(built("wild", target, "static", "-O1"), ["null"], budget=BUDGET)
    trace = run.tracks[0].trace
    image = trace.images[0].image
    store = next(symbol for symbol in image.symbols if symbol.name.startswith("store"))
    last = int(trace.pc[-1])
    assert run.signal == signal.SIGSEGV and "writes 4 bytes at 0x0" in run.ending
    assert store.address <= last < store.address + store.size and isinstance(trace.end, EmulationError)
    assert trace.end.pc == last and trace.writes.step[-1] < len(trace) - 1
    callers = observe(trace).stack(len(trace) - 1).frames
    assert [describe(trace.images, each.pc, caller=i > 0).partition("+")[0] for i, each in enumerate(callers[:2])] == [
        store.name,
        "main",
    ]


def test_an_endless_loop_ends_with_its_budget() -> None:
    run = run_process(built("wild", "x86_64", "static", "-O1"), ["loop"], budget=BUDGET)
    assert run.status is None and run.steps == BUDGET and "steps are used up" in run.ending


# What a process cannot have: it is told so by name and place, and what ran until then is whole and judged.


@pytest.mark.parametrize(
    ("what", "call", "told"),
    [
        ("network", "connect", "Network is unreachable"),
        ("watch", "inotify_init1", "Function not implemented"),
    ],
)
def test_a_call_that_is_refused_is_named_with_its_place_and_the_program_goes_on(
    what: str, call: str, told: str
) -> None:
    run = ran("cannot", "x86_64", "static", what)
    assert (run.status, run.stdout.decode()) == (5, f"{what}: -1, {told}\n")
    (refused,) = run.refused
    assert refused.name == call
    trace = run.tracks[0].trace
    assert int(trace.pc[refused.step]) == refused.pc and "+0x" in describe(run.images, refused.pc)


def test_an_instruction_that_the_emulator_lacks_ends_the_run_with_its_place() -> None:
    run = ran("cannot", "x86_64", "static", "avx")
    assert run.status is None and run.stdout == b""
    assert "does not have (vpaddd ymm0, ymm0, ymm0) at main+0x" in run.why
    (track,) = run.tracks
    assert len(track.trace) == run.steps > 5_000
    assert describe(run.images, observe(track.trace).stack(len(track.trace) - 1).frames[0].pc).startswith("main+")
    share = judge_process(watch_process(run), UNWINDERS["eh_frame"])
    assert share.sites == run.steps and share.exact > 0.95 * share.judged and not share.unexplained


# Paths are walked in the process's own tree: nothing leads out of it, and writing is copying.


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "shown/deep").mkdir(parents=True)
    (tmp_path / "written").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "shown/file").write_text("file")
    (tmp_path / "shown/deep/other").write_text("other")
    for name, target in {
        "up": "..",
        "out": str(tmp_path / "secret"),
        "beside": "../secret",
        "inside": "deep/other",
        "rooted": "/shown/deep",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
    }.items():
        (tmp_path / "shown" / name).symlink_to(target)
    return tmp_path


@pytest.fixture
def tree(host: Path) -> FileTree:
    made = [FileNode("/dev/null", stat.S_IFCHR | 0o666), FileNode("/tmp", stat.S_IFDIR | 0o777)]
    return FileTree({"/shown": host / "shown", "/single": host / "shown/file"}, host / "written", made, 1000)


def refusal(tree: FileTree, path: str) -> int:
    with pytest.raises(Refusal) as caught:
        tree.find(path)
    return caught.value.number


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/secret", errno.ENOENT),
        ("/shown/../secret", errno.ENOENT),
        ("/shown/out", errno.ENOENT),
        ("/shown/beside", errno.ENOENT),
        ("/shown/up/secret", errno.ENOENT),
        ("/shown/deep/../../../../secret", errno.ENOENT),
        ("/shown/loop", errno.ELOOP),
        ("/shown/ping/x", errno.ELOOP),
        ("/shown/file/x", errno.ENOTDIR),
        ("/shown/file/..", errno.ENOTDIR),
        ("/single/", errno.ENOTDIR),
        ("/" + "x" * 300, errno.ENAMETOOLONG),
        ("/" + "x/" * 3000, errno.ENAMETOOLONG),
        ("", errno.ENOENT),
        ("/shown/\udcff", errno.ENOENT),
        ("/shown/a\0b", errno.ENOENT),
    ],
)
def test_paths_that_lead_nowhere(tree: FileTree, path: str, number: int) -> None:
    assert refusal(tree, path) == number


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/shown/inside", "/shown/deep/other"),
        ("/shown/rooted/other", "/shown/deep/other"),
        ("/shown/up/shown/file", "/shown/file"),
        ("//shown/./deep/../file", "/shown/file"),
        ("/single", "/single"),
        ("/..", "/"),
        ("/dev", "/dev"),
    ],
)
def test_paths_that_lead_somewhere(tree: FileTree, path: str, found: str) -> None:
    assert tree.find(path).path == found


def test_folders_have_the_names_of_all_layers(tree: FileTree) -> None:
    assert tree.names(tree.find("/")) == ["dev", "shown", "single", "tmp"]
    tree.for_writing("/shown/new", empty=True)
    tree.remove("/shown/file", folder=False)
    names = tree.names(tree.find("/shown"))
    assert "new" in names and "file" not in names and "deep" in names


def test_writing_copies_and_deleting_hides(tree: FileTree, host: Path) -> None:
    tree.for_writing("/shown/file", empty=False).write_text("changed")
    node = tree.find("/shown/file")
    assert node.host is not None and node.host.read_text() == "changed"
    tree.rename("/shown/file", "/tmp/moved")
    assert refusal(tree, "/shown/file") == errno.ENOENT
    tree.remove("/tmp/moved", folder=False)
    assert refusal(tree, "/tmp/moved") == errno.ENOENT
    tree.remove("/shown/deep/other", folder=False)
    tree.remove("/shown/deep", folder=True)
    assert refusal(tree, "/shown/deep") == errno.ENOENT
    tree.make_folder("/shown/deep")
    assert tree.names(tree.find("/shown/deep")) == []
    assert (host / "shown/file").read_text() == "file" and (host / "shown/deep/other").read_text() == "other"


def test_what_is_written_is_bounded(tree: FileTree) -> None:
    file = open_in(tree, "/tmp/large", 0o102)  # O_RDWR, O_CREAT
    assert file.write(b"x" * 900) == 900
    with pytest.raises(Refusal) as caught:
        file.write(b"x" * 200)
    assert caught.value.number == errno.ENOSPC
    file.close()


def test_what_is_neither_file_nor_folder_is_not_opened(tree: FileTree, host: Path) -> None:
    os.mkfifo(host / "shown/pipe")
    for path in ("/shown/pipe", "/dev/null"):
        with pytest.raises(Refusal) as caught:
            open_in(tree, path, 0)
        assert caught.value.number == errno.EACCES
