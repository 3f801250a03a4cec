"""Temporary folders: gone with their process, however it went, and never taken from one that lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from testbed.words.temporary import WorkFolder, remove_dead

CHILD = """
import os, signal, sys
from testbed.words.temporary import WorkFolder
made = WorkFolder("test")
(made.path / "file").write_text("x")
print(made.path, flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "forked" and os.fork() == 0:  # its parent is gone: this one still works there
    sys.stdin.readline()
    os._exit(0)
if sys.argv[1] == "forked":
    os._exit(0)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    remove_dead.cache_clear()
    return tmp_path


def started(how: str) -> tuple[subprocess.Popen[str], Path]:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    return child, Path(child.stdout.readline().strip())


def test_the_folder_of_a_killed_process_goes_when_the_next_one_is_made(place: Path) -> None:
    child, left = started("killed")
    assert child.wait() == -signal.SIGKILL and (left / "file").is_file()
    with WorkFolder("other") as own:
        assert not left.exists() and own.is_dir()
        remove_dead.cache_clear()
        with WorkFolder("third"):
            assert own.is_dir(), "a process that lives keeps its folder"
    assert not list(place.iterdir())


def test_a_folder_stays_as_long_as_what_was_forked_from_its_process(place: Path) -> None:
    child, left = started("forked")
    assert child.wait() == 0
    remove_dead()
    assert left.is_dir()
    child.communicate("\n")  # until the forked one is gone, too
    remove_dead.cache_clear()
    remove_dead()
    assert not left.exists()


def test_the_folder_of_a_process_that_ends_goes_with_it(place: Path) -> None:
    child, left = started("ends")
    assert child.wait() == 0 and not left.exists()


def test_folders_of_others_stay(place: Path) -> None:
    (place / "testbed-mine").mkdir()
    (place / "testbed-work-link").symlink_to(place / "testbed-mine")
    remove_dead()
    assert (place / "testbed-mine").is_dir() and os.path.lexists(place / "testbed-work-link")


@pytest.mark.parametrize("before", ["os.open", "fcntl.flock"])
def test_a_folder_that_another_process_removes_before_it_is_locked_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    module, _, name = before.partition(".")
    really = getattr(sys.modules[module], name)
    taken: list[Path] = []

    def first_removed(*arguments: Any) -> Any:
        if not taken:
            taken.extend(place.iterdir())
            taken[0].rmdir()
        return really(*arguments)

    remove_dead()  # which opens and locks too
    monkeypatch.setattr(before, first_removed)
    with WorkFolder("test") as own:
        assert own.is_dir() and taken and own not in taken


def test_no_place_for_temporary_files_is_no_reason_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    remove_dead.cache_clear()
    remove_dead()
    with pytest.raises(OSError, match="No such file"):
        WorkFolder("test")
