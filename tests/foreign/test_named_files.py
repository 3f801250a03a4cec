"""A dump may name any file: only those below the folders that the user gave are opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.export.write import snapshot_data
from testbed.foreign import Places, read_snapshot
from testbed.foreign.program_files import below
from testbed.trace import Snapshot
from testbed.words.errors import SnapshotFileError
from tests.foreign.small import small


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return small()


def naming(snapshot: Snapshot, folder: Path, name: str) -> Path:
    """A dump whose only module is called that, in a folder of its own."""
    data = snapshot_data(snapshot)
    data["images"][0]["path"] = name
    (folder / "dump").mkdir(parents=True, exist_ok=True)
    (folder / "dump" / "a.json").write_text(json.dumps(data))
    return folder / "dump" / "a.json"


def refused(path: Path, places: Places | None = None) -> str:
    with pytest.raises(SnapshotFileError) as caught:
        read_snapshot(path, places)
    return str(caught.value)


def test_an_absolute_name_is_opened_only_below_the_sysroot(snapshot: Snapshot, tmp_path: Path) -> None:
    file = snapshot.images[0].image.path.resolve()
    dump = naming(snapshot, tmp_path, str(file))
    assert "--sysroot /" in refused(dump)
    assert read_snapshot(dump, Places(sysroot=Path("/"))).snapshot.images[0].image.path == file
    assert "--sysroot /" in refused(dump, Places(sysroot=tmp_path))


@pytest.mark.parametrize(
    "name", ["../secret", "/../secret", "x/../../secret", "link", "/link", "folder/secret", ".", ""]
)
def test_no_name_leads_out_of_a_folder(snapshot: Snapshot, tmp_path: Path, name: str) -> None:
    content = snapshot.images[0].image.path.read_bytes()
    (tmp_path / "secret").write_bytes(content)
    root = tmp_path / "root"
    for folder in (root, tmp_path / "dump"):
        folder.mkdir()
        (folder / "x").mkdir()
        (folder / "link").symlink_to(tmp_path / "secret")
        (folder / "folder").symlink_to(tmp_path)
    refused(naming(snapshot, tmp_path, name), Places(sysroot=root))
    assert below(root, name) is None


def test_links_inside_a_folder_are_followed(snapshot: Snapshot, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "usr" / "lib").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    (root / "usr" / "lib" / "a.so").write_bytes(snapshot.images[0].image.path.read_bytes())
    found = read_snapshot(naming(snapshot, tmp_path, "/lib/a.so"), Places(sysroot=root))
    assert found.snapshot.images[0].image.path == root / "lib" / "a.so"


@pytest.mark.parametrize("name", ["n" * 300, "/" + "d/" * 5000 + "x", "\x1b[31mred", "a\nb"])
def test_odd_names_are_told_on_one_line(snapshot: Snapshot, tmp_path: Path, name: str) -> None:
    said = refused(naming(snapshot, tmp_path, name), Places(sysroot=tmp_path))
    assert said.isprintable() and len(said) < 2500


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_what_no_file_can_be_called_is_a_mistake_of_the_dump(snapshot: Snapshot, tmp_path: Path, name: str) -> None:
    assert "it needs a path" in refused(naming(snapshot, tmp_path, name))
