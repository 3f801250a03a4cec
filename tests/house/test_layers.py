"""The house's arrows point one way: each room imports only from rooms below it, and no modules import in a circle.

Every import is an arrow, wherever it stands: in a function or under TYPE_CHECKING, too.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.house.sources import ROOT, arrows, imported, module_name, modules, nodes, relative

pytestmark = pytest.mark.whole

# Rooms of testbed, lowest first; a room imports from itself and from lines above it here. Rooms on one line do not know
# each other.
LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split())
    for line in (
        "words",
        "store",
        "native",
        "arch",
        "image",
        "conventions",
        "program",
        "generate trace rereading",
        "contract export build",
        "machine remote foreign protocol",
        "referee truth naming witness micro process",
        "verdicts",
        "runs",
        "sweep",
        "checks",
        "campaign",
        "profiling",
        "vectors",
        "report serve",
        "cli",
        "pytest_plugin",
    )
)
CONTRACT = frozenset(["arch", "words", "native", "image", "conventions", "trace", "contract"])
COMPOSITION_ROOTS = ("testbed/cli/", "testbed/__init__.py", "testbed/pytest_plugin.py")


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "testbed" and len(parts) > 1 else None


def level(name: str) -> int:
    return next(i for i, line in enumerate(LAYERS) if name in line)


@pytest.mark.parametrize("path", modules("testbed"), ids=relative)
def test_a_room_imports_only_from_rooms_below(path: Path) -> None:
    if relative(path) == "testbed/__init__.py":
        return
    own = path.relative_to(ROOT / "testbed").parts[0].removesuffix(".py")
    for module in imported(path):
        other = room(module)
        if other is None or other == own:
            continue
        assert level(other) < level(own), f"{relative(path)} imports {module}, which is not below {own}"


def circle(graph: Mapping[str, Sequence[str]]) -> list[str]:
    """Modules each of which imports the next one, the last one the first; empty where there is no circle."""
    done: set[str] = set()

    def search(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return trail[trail.index(name) :]
        if name in done:
            return []
        for target in graph[name]:
            if found := search(target, [*trail, name]):
                return found
        done.add(name)
        return []

    return next((found for name in graph if (found := search(name, []))), [])


def test_no_modules_import_in_a_circle() -> None:
    found = circle(arrows())
    assert found == [], f"a circle of imports: {' -> '.join([*found, *found[:1]])}"


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": ["b", "c"], "b": ["c"], "c": []}, []),
        ({"a": ["b"], "b": ["b"]}, ["b"]),
        ({"a": ["b"], "b": ["c"], "c": ["d"], "d": ["b"]}, ["b", "c", "d"]),
    ],
)
def test_a_circle_is_found_and_a_diamond_is_none(graph: dict[str, list[str]], found: list[str]) -> None:
    assert circle(graph) == found


def bound_names(path: Path) -> Iterator[str]:
    """What a module defines or imports at its top level, but for its own submodules."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom) and node.module != module_name(path):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


@pytest.mark.parametrize(
    "path", [p for f in ("testbed", "unwinders", "programs") for p in modules(f) if p.stem == "__init__"], ids=relative
)
def test_a_package_has_no_name_that_is_one_of_its_modules(path: Path) -> None:
    """``testbed.run`` must not be a function here and a module there, depending on what was imported first."""
    inside = {p.stem for p in path.parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    shadowed = inside & set(bound_names(path))
    assert shadowed == set(), f"{relative(path)} hides its modules {sorted(shadowed)}"


@pytest.mark.parametrize("path", [*modules("testbed"), *modules("unwinders"), *modules("programs")], ids=relative)
def test_only_the_composition_roots_know_programs_and_unwinders(path: Path) -> None:
    if relative(path).startswith(COMPOSITION_ROOTS):
        return
    own = path.relative_to(ROOT).parts[0]
    for module in imported(path):
        top = module.split(".")[0]
        if top in ("programs", "unwinders"):
            assert top == own, f"{relative(path)} imports {module}"


# A folder, the only rooms that it may know (None: any), and what it may not know: rooms, packages, modules.
SIGHT: list[tuple[str, frozenset[str] | None, set[str]]] = [
    ("unwinders", CONTRACT, set()),
    # the truth knows no unwinder, no rows and no disassembler, nor the second witness
    (
        "testbed/truth",
        None,
        {"contract", "verdicts", "runs", "campaign", "build", "witness", "disassembly"}
        | {"capstone", "keystone", "elftools", "unwinders"},
    ),
    # the second witness knows what was recorded, and what a program file says
    ("testbed/witness", frozenset(["arch", "words", "image", "trace", "witness"]), set()),
    # the second readers of tables know nothing of the first, of what writes tables, of how rows are told to an unwinder
    ("testbed/rereading", frozenset(["words", "arch", "image", "conventions", "rereading"]), set()),
    ("testbed/build/tables", None, {"contract", "unwinders", "elftools"}),  # writers share nothing with the readers
]


@pytest.mark.parametrize(("folder", "only", "never"), SIGHT)
def test_a_folder_sees_only_what_it_may(folder: str, only: frozenset[str] | None, never: set[str]) -> None:
    for path in modules(folder):
        for module in imported(path):
            assert only is None or room(module) in {None, *only}, f"{relative(path)} imports {module}"
            assert not never & set(module.split(".")), f"{relative(path)} imports {module}"


def test_the_two_witnesses_have_no_function_in_common() -> None:
    """A function of more than a few lines whose code is in both would be one witness, heard twice."""

    def bodies(folder: str) -> dict[str, str]:
        found = {}
        for path in modules(folder):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and len(node.body) > 2:
                    found["\n".join(ast.unparse(line) for line in node.body[1:])] = f"{relative(path)}:{node.lineno}"
        return found

    one, other = bodies("testbed/truth"), bodies("testbed/witness")
    assert not [(one[body], other[body]) for body in one.keys() & other.keys()]


@pytest.mark.parametrize(
    "path", [p for f in ("testbed", "unwinders", "programs") for p in modules(f) if "arch" not in p.parts], ids=relative
)
def test_no_architecture_is_named_outside_its_table(path: Path) -> None:
    """``if arch == "arm64"`` is a fact that belongs into a table: the architecture's, or a `PerArch` of the room."""
    names = {"x86_64", "arm64", "arm32", "a32", "thumb"}
    for node in nodes(path):
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


TOOLS = sorted(p.parent for p in (ROOT / "testbed/referee").glob("*/unwinder.py"))


@pytest.mark.parametrize("folder", TOOLS, ids=lambda folder: folder.name)
def test_what_a_real_unwinder_gets_wrong_stands_in_a_file_of_that_name(folder: Path) -> None:
    """And not in its unwinder.py, which says how the tool is asked."""
    assert (folder / "findings.toml").exists()
    for node in nodes(folder / "unwinder.py"):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "Finding", f"{folder.name}/unwinder.py:{node.lineno}"
