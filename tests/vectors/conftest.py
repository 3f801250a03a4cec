"""A small set of vectors, written once, and the checker that comes with it, loaded by its path."""

import json
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from testbed.cli.export import command

PROGRAMS = (
    *("leaf_call", "leaf_no_frame", "callee_saved", "early_return", "signal", "noreturn_last_call", "pac_ret"),
    *("overaligned", "behind_call", "genc:1004"),
)
RECIPES = ("keystone", "clang-O2", "clang-O2-sframe", "macho-O2")


def write_set(folder: Path, *options: str) -> str:
    """Write a set of vectors as the command line does; what was printed."""
    done = CliRunner().invoke(command, ["--vectors", str(folder), "-j", "1", *options])
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"
    return done.output


def chosen(programs: tuple[str, ...], recipes: tuple[str, ...]) -> list[str]:
    return [word for flag, names in (("-p", programs), ("-r", recipes)) for name in names for word in (flag, name)]


@pytest.fixture(scope="session")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "set"
    write_set(folder, *chosen(PROGRAMS, RECIPES))
    return folder


@pytest.fixture(scope="session")
def checker(small_set: Path) -> SimpleNamespace:
    """What ``check_vectors.py`` of the set defines."""
    return SimpleNamespace(**run_path(str(small_set / "check_vectors.py")))


@pytest.fixture(scope="session")
def files(small_set: Path) -> list[dict[str, Any]]:
    """Every file of the set, parsed."""
    index = json.loads((small_set / "index.json").read_text())
    return [json.loads((small_set / entry["file"]).read_text()) for entry in index["files"]]
