"""The names of all tests as they were found last: `pytest -k` reads only the files that have such names.

The first `pytest` that reads all files keeps, in pytest's own cache, the names in each. They hold as long as that file,
the modules that tests share, the programs, and the list of our modules are what they were; else files are read again.
``pytest --cache-clear`` forgets them.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).parents[1]
FEW = 50  # tests that one process runs sooner than several start


def stamp(path: Path) -> str:
    status = path.stat()
    return f"{path} {status.st_mtime_ns} {status.st_size}"


@cache
def shared() -> str:
    """What the names in any file may depend on: helpers of tests, programs, and which modules there are."""
    helpers = (path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_"))
    programs = (path for path in (ROOT / "programs").rglob("*") if path.is_file() and path.suffix != ".pyc")
    ours = (path for folder in ("testbed", "unwinders") for path in (ROOT / folder).rglob("*.py"))
    lines = [*map(stamp, helpers), *map(stamp, programs), *map(str, ours)]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def keep(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Keep the names of a whole collection, per file. Of several processes the first one does."""
    path = place(config)
    if path is None or os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        return
    names: dict[str, list[str]] = {}
    for item in items:
        file, _, name = item.nodeid.partition("::")
        marks = " ".join(mark.name for mark in item.iter_markers())
        names.setdefault(file, []).append(f"{name} {marks}".lower())
    files = {file: {"stamp": stamp(config.rootpath / file), "names": of_file} for file, of_file in names.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"shared": shared(), "files": files}), encoding="utf-8")


def place(config: pytest.Config) -> Path | None:
    """Where the names are kept, in pytest's folder of caches; None under ``-p no:cacheprovider``."""
    there = config.pluginmanager.hasplugin("cacheprovider")
    return config.rootpath / config.getini("cache_dir") / "v" / "testbed" / "names.json" if there else None


@cache
def kept(config: pytest.Config) -> dict[str, Any]:
    """What was kept and holds still; empty where there is nothing."""
    path = place(config)
    if path is None or config.option.cacheclear or not path.is_file():
        return {}
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return known if known["shared"] == shared() else {}


@cache
def matching(config: pytest.Config) -> dict[Path, int]:
    """How many tests of each known file match the words after ``-k``; empty where nothing is known, or asked."""
    known = kept(config) if config.option.keyword else {}
    if not known:
        return {}
    found = {}
    for path, of_file in known["files"].items():
        file = config.rootpath / path
        if file.is_file() and stamp(file) == of_file["stamp"]:
            found[file] = sum(is_wanted(config, f"{path} {name}") for name in of_file["names"])
    return found


def is_wanted(config: pytest.Config, name: str) -> bool:
    """Whether the words after ``-k`` choose a test of this name; true where there are none, and for every name where
    none are kept, so that all are found and kept."""
    words = config.option.keyword
    return not words or not kept(config) or _expression(words).evaluate(_contains(name.lower()))


@cache
def _expression(words: str) -> Expression:
    return Expression.compile(words)


def _contains(text: str) -> Callable[..., bool]:
    def has(word: str, /, **_: object) -> bool:
        return word.lower() in text

    return has


def header(config: pytest.Config) -> list[str]:
    if not config.option.keyword:
        return []
    without = sum(not count for count in matching(config).values())
    if without:
        return [f"{without} files have no test of that name, as kept; pytest --cache-clear reads them"]
    return ["all files are read for that name, this once: their names are kept"]
