"""The modules of the house, and what they import."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_OF_A_MODULE = 500


def modules(folder: str) -> list[Path]:
    """Every module below a folder of the project."""
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The syntax tree of a file, flat: read once for all tests."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, absolute, anywhere in it (a lazy import is an arrow too)."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def relative(path: Path) -> str:
    """A module's path as the tests name it."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    return relative(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def arrows() -> dict[str, list[str]]:
    """Which modules of the project each of them imports; ``from package import module`` is an arrow to the module."""
    paths = {
        module_name(p): p for folder in ("testbed", "unwinders", "programs", "benchmarks") for p in modules(folder)
    }
    found = {}
    for name, path in paths.items():
        targets = (m if m in paths else m.rpartition(".")[0] for m in imported(path))
        found[name] = sorted({target for target in targets if target in paths and target != name})
    return found
