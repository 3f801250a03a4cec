"""A class name stands for one thing in the whole project."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]
FOLDERS = ("testbed", "unwinders", "programs", "benchmarks", "docs", "tests/mutation")


def types_of(source: str) -> Iterator[tuple[str, str]]:
    """Each type that a module defines, as (name, what it is): a class is itself, an alias is what it stands for."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, f"class at line {node.lineno}"
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id.removeprefix("_")
            if name[:1].isupper() and not name.isupper():
                yield node.targets[0].id, ast.unparse(node.value)


def shared_names(sources: dict[str, str]) -> dict[str, list[str]]:
    """Names that stand for several types; a leading underscore makes no other name. Equal aliases are one type."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, source in sources.items():
        for name, meaning in types_of(source):
            where = f"{path}: {meaning}"
            found[name.removeprefix("_")][where if meaning.startswith("class ") else meaning] = where
    return {name: sorted(meanings.values()) for name, meanings in found.items() if len(meanings) > 1}


def test_each_name_of_a_type_stands_for_one_thing() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    shared = shared_names({p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in paths})
    assert shared == {}


def test_shared_names_are_found() -> None:
    assert shared_names({"a.py": "class Frame: pass", "b.py": "class _Frame: pass"}) == {
        "Frame": ["a.py: class at line 1", "b.py: class at line 1"]
    }
    assert shared_names({"a.py": "Why = int | str", "b.py": "Why = int | None"}).keys() == {"Why"}
    assert shared_names({"a.py": "Ints = list[int]", "b.py": "Ints = list[int]", "c.py": "INTS = 3"}) == {}
