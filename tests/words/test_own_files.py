"""Files that somebody else may have written are not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from testbed.words import own_files
from testbed.words.own_files import distrusted, own_bytes, own_folder

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


def test_folders_are_made_for_this_user_alone_whatever_new_files_are_like(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        own_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o666, 0o602, 0o777])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_others_may_write_is_not_taken(kept: Path, mode: int, what: str) -> None:
    changed = kept if what == "file" else kept.parent
    changed.chmod(mode | 0o700)
    assert f"{changed} is not used: other users may write it" in distrusted(changed)
    with pytest.raises(PermissionError, match="other users may write it"):
        own_bytes(kept)
    if what == "folder":
        with pytest.raises(PermissionError):
            own_folder(kept.parent)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_belongs_to_another_user_is_not_taken(kept: Path, what: str, given_away: Given) -> None:
    given_away(kept if what == "file" else kept.parent)
    with pytest.raises(PermissionError, match="belongs to another user"):
        own_bytes(kept)


def test_a_group_may_write_where_it_has_only_this_user(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.chmod(0o660)
    for alone in (True, False):
        monkeypatch.setattr(own_files, "_has_only_this_user", lambda group, alone=alone: alone)
        with nullcontext() if alone else pytest.raises(PermissionError):
            assert own_bytes(kept) == b"content"
    monkeypatch.undo()
    assert not own_files._has_only_this_user(4_000_000_000), "no such group"


def test_what_is_no_regular_file_is_not_waited_for(kept: Path) -> None:
    os.mkfifo(kept.with_name("pipe"), 0o600)
    for path in (kept.with_name("pipe"), kept.parent, kept.with_name("gone"), kept / "below"):
        with pytest.raises(OSError, match=r"regular|directory|No such"):
            own_bytes(path)
    assert distrusted(kept.with_name("gone")) == "" == distrusted(kept.parent)
