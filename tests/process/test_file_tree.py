"""Paths are walked in the process's own tree: nothing leads out of it, and writing is copying."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import pytest

from testbed.process.file_tree import FileNode, FileTree
from testbed.process.open_files import open_in
from testbed.process.refusal import Refusal


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
    import os

    os.mkfifo(host / "shown/pipe")
    for path in ("/shown/pipe", "/dev/null"):
        with pytest.raises(Refusal) as caught:
            open_in(tree, path, 0)
        assert caught.value.number == errno.EACCES
