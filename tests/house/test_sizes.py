"""A module has one job and fits the eye: at most 300 lines of it, and 60 of each function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]
FOLDERS = ("testbed", "unwinders", "programs", "benchmarks", "docs", "tests")
MOST_OF_A_MODULE = 300
MOST_OF_A_FUNCTION = 60

# What may be longer, and why.
EXCEPTIONS: dict[str, str] = {"testbed/build/keystone.py": "how keystone is asked, and what it makes is compared"}


def too_long(name: str, source: str) -> dict[str, int]:
    """What is too long in a module, itself and its functions (inner ones too), with its lines."""
    found = {name: lines} if (lines := len(source.splitlines())) > MOST_OF_A_MODULE else {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_OF_A_FUNCTION:
                found[f"{name} {node.name}"] = lines
    return found


def test_no_module_and_no_function_is_too_long() -> None:
    found: dict[str, int] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found |= too_long(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    assert {name: lines for name, lines in found.items() if name not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() <= found.keys(), "an exception that is none any more"


def test_long_ones_are_found() -> None:
    body = "    pass\n" * MOST_OF_A_FUNCTION
    assert too_long("a.py", f"class C:\n  def f(self):\n{body}") == {"a.py f": 61}
    assert too_long("a.py", "x = 1\n" * 301) == {"a.py": 301}
    assert too_long("a.py", "x = 1\n" * 300) == {}
