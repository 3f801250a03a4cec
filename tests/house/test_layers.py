"""The house's arrows point one way: each room may import only from rooms below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Rooms of testbed, lowest first; a room may import from itself, from its own line and from lines above it here.
LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split())
    for line in (
        "words",
        "arch",
        "image program",
        "generate trace",
        "contract export foreign build",
        "machine remote",
        "referee truth naming",
        "verdicts",
        "runs",
        "tables campaign",
        "report",
        "cli",
    )
)
CONTRACT = frozenset(["arch", "words", "image", "trace", "contract"])
COMPOSITION_ROOTS = ("testbed/cli/", "testbed/__init__.py")


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, absolute, anywhere in it (a lazy import is an arrow too)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "testbed" and len(parts) > 1 else None


def level(name: str) -> int:
    return next(i for i, line in enumerate(LAYERS) if name in line)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", modules("testbed"), ids=relative)
def test_a_room_imports_only_from_rooms_below(path: Path) -> None:
    if relative(path) == "testbed/__init__.py":
        return
    own = path.relative_to(ROOT / "testbed").parts[0].removesuffix(".py")
    for module in imported(path):
        other = room(module)
        if other is None or other == own:
            continue
        if relative(path) == "testbed/arch/model.py" and other == "arch":
            continue
        assert level(other) <= level(own), f"{relative(path)} imports {module}, which is above it"


@pytest.mark.parametrize("path", [*modules("testbed"), *modules("unwinders"), *modules("programs")], ids=relative)
def test_only_the_composition_roots_know_programs_and_unwinders(path: Path) -> None:
    if relative(path).startswith(COMPOSITION_ROOTS):
        return
    own = path.relative_to(ROOT).parts[0]
    for module in imported(path):
        top = module.split(".")[0]
        if top in ("programs", "unwinders"):
            assert top == own, f"{relative(path)} imports {module}"


@pytest.mark.parametrize("path", modules("unwinders"), ids=relative)
def test_a_strategy_sees_only_the_contract(path: Path) -> None:
    for module in imported(path):
        other = room(module)
        if module.split(".")[0] == "testbed":
            assert other in CONTRACT, f"{relative(path)} imports {module}"


@pytest.mark.parametrize("path", modules("testbed/truth"), ids=relative)
def test_the_truth_knows_no_unwinder_no_rows_and_no_disassembler(path: Path) -> None:
    for module in imported(path):
        assert room(module) not in ("contract", "verdicts", "runs", "campaign", "build"), module
        assert module.split(".")[0] not in ("capstone", "keystone", "elftools", "unwinders"), module
        assert "disassembly" not in module, module


@pytest.mark.parametrize("path", modules("testbed/build/tables"), ids=relative)
def test_table_writers_share_nothing_with_the_readers(path: Path) -> None:
    for module in imported(path):
        assert room(module) not in ("contract",), module
        assert module.split(".")[0] not in ("unwinders", "elftools"), module


@pytest.mark.parametrize(
    "path", [p for f in ("testbed", "unwinders", "programs") for p in modules(f) if "arch" not in p.parts], ids=relative
)
def test_no_architecture_is_named_outside_its_table(path: Path) -> None:
    """``if arch == "arm64"`` anywhere else is a fact that belongs into the architecture's table."""
    names = {"x86_64", "arm64", "arm32", "a32", "thumb"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            for operand in (node.left, *node.comparators):
                for constant in ast.walk(operand):
                    if isinstance(constant, ast.Constant):
                        assert constant.value not in names, f"{relative(path)}:{node.lineno} decides on an architecture"
        if isinstance(node, ast.match_case):
            for constant in ast.walk(node.pattern):
                if isinstance(constant, ast.Constant):
                    assert constant.value not in names, f"{relative(path)} decides on an architecture"


def test_the_layer_list_is_the_tree() -> None:
    """A room that nobody listed would never be checked."""
    there = {p.name.removesuffix(".py") for p in (ROOT / "testbed").iterdir() if p.suffix == ".py" or p.is_dir()}
    listed = set().union(*LAYERS)
    assert there - {"__init__", "__pycache__", "py.typed"} == listed
