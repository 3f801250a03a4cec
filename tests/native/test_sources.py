"""The hash of native sources."""

from __future__ import annotations

from pathlib import Path

from testbed.native.sources import digest, is_native, native_files, packages_for

ROOT = Path(__file__).parents[2]


def test_a_native_module_is_told_by_its_name() -> None:
    assert all(map(is_native, ("testbed.trace.native", "unwinders.rows.native.row", "mine.native")))
    assert not any(map(is_native, ("testbed.trace.rolling", "testbed.nativeness", "unwinders.rows.walk")))


def test_each_native_file_and_its_name_count_and_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "package"
    natives = [package / name for name in ("native.py", "native/a.py", "room/native/b.py", "room/native/in/c.py")]
    others = [package / name for name in ("other.py", "room/d.py", "room/native/__pycache__/e.py", "native/f.txt")]
    for path in (*natives, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    assert sorted(native_files(package)) == sorted(natives)
    hashes = {digest([package])}
    for path in natives:
        path.write_text("x = 2\n")
        hashes.add(digest([package]))
    natives[0].rename(package / "room" / "native.py")
    hashes.add(digest([package]))
    assert len(hashes) == len(natives) + 2
    before = digest([package])
    for path in others:
        path.write_text("x = 2\n")
    assert digest([package]) == before


def test_functions_are_made_from_the_project_and_their_own_package() -> None:
    project = (ROOT / "testbed", ROOT / "unwinders")
    assert packages_for("testbed.trace.native") == packages_for("unwinders.rows.native.row") == project
    assert packages_for("tests.native.example") == (*project, ROOT / "tests")
    assert packages_for("not_imported.native") is None
