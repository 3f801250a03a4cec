"""Files that are read whole: regular ones, pipes once, and nothing that has no end."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from testbed.words import files
from testbed.words.data_file import WORDS, Table, read_toml, tables_in
from testbed.words.errors import DataFileError
from testbed.words.files import (
    WorkFolder,
    distrusted,
    is_file,
    is_folder,
    open_regular,
    own_bytes,
    own_folder,
    regular_bytes,
    remove_dead,
)


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert regular_bytes(tmp_path / "a") == b"x" * 3_000_000
    with pytest.raises(OSError, match="more than 0x64 bytes"):
        regular_bytes(tmp_path / "a", 100)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/proc/self/mem", "/", "/nowhere", "a" * 300, "a\0b"])
def test_what_is_no_file_is_refused_at_once(path: str) -> None:
    for read in (regular_bytes, open_regular):
        if (path, read) != ("/proc/self/mem", open_regular):
            with pytest.raises((OSError, ValueError)):
                read(Path(path))
    assert not is_file(Path("a" * 300)) and not is_folder(Path("a\0b"))


def test_of_a_device_nothing_is_read() -> None:
    for read in (regular_bytes, open_regular):
        with pytest.raises(OSError, match="a device, not a regular file"):
            read(Path("/dev/zero"))


def test_a_file_that_says_it_is_empty_may_have_content() -> None:
    assert b"Name:" in regular_bytes(Path("/proc/self/status"))


def test_a_pipe_is_read_once_and_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="nobody wrote all"):
        regular_bytes(pipe)
    monkeypatch.setattr(files, "PIPE_SECONDS", 20)
    threading.Thread(target=lambda: pipe.write_bytes(b"y" * 100_000), daemon=True).start()
    assert regular_bytes(pipe) == b"y" * 100_000


# Files that somebody else may have written are not there.

Given = Callable[[Path], None]


@pytest.fixture
def given_away(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Make something another user's: really, where that is allowed, else by being another user."""

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, 12345, -1)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: 12345)

    return give


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "cache" / "kept" / "a"
    own_folder(path.parent)
    path.write_bytes(b"content")
    path.chmod(0o600)
    assert own_bytes(path) == b"content"
    return path


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_belongs_to_another_user_is_not_taken(kept: Path, what: str, given_away: Given) -> None:
    given_away(kept if what == "file" else kept.parent)
    with pytest.raises(PermissionError, match="belongs to another user"):
        own_bytes(kept)


def test_a_group_may_write_where_it_has_only_this_user(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.chmod(0o660)
    for alone in (True, False):
        monkeypatch.setattr(files, "_has_only_this_user", lambda group, alone=alone: alone)
        with nullcontext() if alone else pytest.raises(PermissionError):
            assert own_bytes(kept) == b"content"
    monkeypatch.undo()
    assert not files._has_only_this_user(4_000_000_000), "no such group"


def test_what_is_no_regular_file_is_not_waited_for(kept: Path) -> None:
    os.mkfifo(kept.with_name("pipe"), 0o600)
    for path in (kept.with_name("pipe"), kept.parent, kept.with_name("gone"), kept / "below"):
        with pytest.raises(OSError, match=r"regular|directory|No such"):
            own_bytes(path)
    assert distrusted(kept.with_name("gone")) == "" == distrusted(kept.parent)


# Temporary folders: gone with their process, however it went, and never taken from one that lives.

CHILD = """
import os, signal, sys
from testbed.words.files import WorkFolder
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


# Catalogues in TOML files: what is wrong in one is said with file, table, key and what to do.

KEYS = {"name": str, "flags": WORDS, "opt_in": bool}


def recipes(path: Path) -> list[Table]:
    return list(tables_in(path, read_toml(path), "recipe", KEYS, frozenset({"name"})))


def test_a_key_of_the_file_counts_for_each_table_that_does_not_have_it(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('name = "a"\nof_others = true\n[[recipe]]\n[[recipe]]\nname = "b"\nflags = ["-O2"]\n[[other]]\n')
    assert [table.keys for table in recipes(path)] == [{"name": "a"}, {"name": "b", "flags": ("-O2",)}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[recipe]\n", r"no TOML file can be read there: .*line 1"),
        ("[recipe]\n", r"recipe: it is written as \[\[recipe\]\], once for each"),
        ("[[recipe]]\nopt_in = true\n", r"recipe 1: name: it is missing; a string is needed"),
        ('[[recipe]]\nname = "a"\nflag = []\n', r"recipe 1 'a': flag: an unknown key; did you mean flags\?"),
        ('[[recipe]]\nname = "a"\nflags = "-O2"\n', r"recipe 1 'a': flags: a list of strings is needed, not '-O2'"),
        ('[[recipe]]\nname = "a"\nopt_in = 1\n', r"recipe 1 'a': opt_in: true or false is needed, not 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_file_table_and_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "recipes.toml"
    path.write_text(text)
    with pytest.raises(DataFileError, match=rf"recipes\.toml: {said}"):
        recipes(path)


def test_a_file_that_is_not_there_is_such_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"none\.toml: no TOML file can be read there"):
        recipes(tmp_path / "none.toml")
