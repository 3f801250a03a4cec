"""A module has one job and fits the eye: about 100 to 500 lines of it, and at most 80 of each function. A warning."""

import ast
import warnings
from pathlib import Path

import pytest

from tests.house.sources import MOST_OF_A_MODULE, ROOT, modules, relative

pytestmark = pytest.mark.whole

FOLDERS = ("testbed", "unwinders", "programs", "benchmarks", "docs", "tests")
MOST_OF_A_FUNCTION = 80
MOST_LONG_ONES = 12  # in all: more are no exceptions any more


class LongCode(UserWarning):
    """A module or a function that is longer than the eye likes: whoever writes it decides."""


def too_long(name: str, source: str) -> dict[str, int]:
    """What is too long in a module, itself and its functions (inner ones too), with its lines."""
    found = {name: lines} if (lines := len(source.splitlines())) > MOST_OF_A_MODULE else {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_OF_A_FUNCTION:
                found[f"{name} {node.name}"] = lines
    return found


def warned(paths: list[Path]) -> dict[str, int]:
    """What is too long in these modules; a warning says each."""
    found: dict[str, int] = {}
    for path in paths:
        found |= too_long(relative(path), path.read_text(encoding="utf-8"))
    for name, lines in found.items():
        warnings.warn(f"{name} has {lines} lines", LongCode, stacklevel=2)
    return found


def test_long_modules_and_functions_are_warned_of() -> None:
    assert len(warned([path for folder in FOLDERS for path in modules(folder)])) <= MOST_LONG_ONES


def test_long_ones_are_found() -> None:
    body = "    pass\n" * MOST_OF_A_FUNCTION
    assert too_long("a.py", f"class C:\n  def f(self):\n{body}") == {"a.py f": 81}
    assert too_long("a.py", "x = 1\n" * 501) == {"a.py": 501}
    assert too_long("a.py", "x = 1\n" * 500) == {}


def test_what_is_too_long_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.house.test_sizes.MOST_OF_A_MODULE", 1)
    with pytest.warns(LongCode, match=r"tests/house/sources\.py has \d+ lines"):
        assert warned([ROOT / "tests/house/sources.py"]).keys() == {"tests/house/sources.py"}
