"""The files that machine code is made from: a module, and the native modules that it imports."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.native.sources import is_native, made_from, reached


def test_a_native_module_is_told_by_its_name() -> None:
    assert all(map(is_native, ("testbed.trace.native", "unwinders.rows.native.row", "mine.native")))
    assert not any(map(is_native, ("testbed.trace.rolling", "testbed.nativeness", "unwinders.rows.walk")))


MODULES = {
    "first": "from own.native import second as other\nfrom own.plain import x\nimport own.native.third, os\n",
    "second": "from own.native.fourth import (  # a comment\n    X,\n    Y,\n)\n",
    "third": "",
    "fourth": "from own.native.first import Z\n",
    "aside": "from own.native.third import X\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "own" / "native"
    folder.mkdir(parents=True)
    for path in (folder / "__init__.py", folder.parent / "__init__.py", folder.parent / "plain.py"):
        path.write_text("")
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("own")
    yield folder
    del sys.modules["own"]


def test_a_module_reaches_what_it_imports_and_that_in_turn(package: Path) -> None:
    names = {name.rpartition(".")[2] for name in reached("own.native.first")} - {"native"}
    assert names == {"first", "second", "third", "fourth"}
    assert set(reached("own.native.third")) == {"own.native.third"}


@pytest.mark.parametrize(("changed", "same"), [("fourth", False), ("third", False), ("aside", True)])
def test_code_is_that_of_the_files_that_it_reaches(package: Path, changed: str, same: bool) -> None:
    made_from.cache_clear()
    before = made_from("own.native.first")
    (package / f"{changed}.py").write_text(MODULES[changed] + "#")
    made_from.cache_clear()
    assert (made_from("own.native.first") == before) is same


def test_of_a_file_that_cannot_be_read_nothing_is_said(package: Path) -> None:
    made_from.cache_clear()
    (package / "third.py").unlink()
    (package / "third.py").symlink_to(package)
    assert made_from("own.native.third") is None and made_from("not_imported.native") is None
