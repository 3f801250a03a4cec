"""A program that tries to reach what is not its own reaches nothing, and changes nothing, of the host."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from testbed.process import ProcessRun, run_process
from tests.process.builds import built

SECRET = "the host's own words"
# What a process may well do: in its own layer of files, or with nothing behind it.
ALLOWED = {"folder", "write own", "own again", "unlink own", "create", "../../../../../../../../.."}  # its own root


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
    run = run_process(program, [str(root / "secret"), "/shown"], folders={"/shown": shown}, written=written)
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
    assert {"ptrace", "execve", "socket", "mount", "chroot", "kill"} <= told


def test_what_it_writes_lies_in_the_folder_of_the_run(attack: tuple[ProcessRun, Path, bool]) -> None:
    run, written, _ = attack
    files = {path.relative_to(written).as_posix(): path.read_text() for path in written.rglob("*") if path.is_file()}
    assert files == {"shown/new": "spoiled"}
    assert b"content spoiledords" in run.stdout  # as it was for the process, until it was deleted


def test_limits_are_limits(attack: tuple[ProcessRun, Path, bool]) -> None:
    found = attempts(attack[0])
    assert found["huge map"] < 0 and found["many maps"] < 0 and found["many files"] < 0
