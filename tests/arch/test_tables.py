"""Every table that is keyed by architectures has an entry for each of them, wherever it stands."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.arch.tables import PerArch, PerIsa
from testbed.build.cache import own_files

ROOT = Path(__file__).parents[2]
ALONE = ("testbed/protocol/examples", "testbed/vectors/kit")  # programs of their own, which import nothing of ours
FILES = sorted(
    path
    for room in ("testbed", "unwinders", "programs")
    for path in (ROOT / room).rglob("*.py")
    if not any(path.is_relative_to(ROOT / folder) for folder in ALONE)
)
TYPES = {kind.__name__: kind for kind in (PerArch, PerIsa)}
ISAS = [isa.name for arch in ARCHES.values() for isa in arch.isas]
WANTED = {PerArch: list(ARCHES), PerIsa: ISAS}
NAMES = {*ARCHES, *ISAS}


@dataclass(frozen=True)
class Table:
    """Where a table stands: its module's path, and the name that it is assigned to (None: to none, at the top)."""

    path: Path
    line: int
    kind: str
    name: str | None

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line}"


def kind_of(node: ast.AST) -> str | None:
    """``PerArch`` for ``PerArch(...)``, ``PerArch[int](...)`` and ``tables.PerArch(...)``."""
    if not isinstance(node, ast.Call):
        return None
    made = node.func.value if isinstance(node.func, ast.Subscript) else node.func
    name = made.id if isinstance(made, ast.Name) else made.attr if isinstance(made, ast.Attribute) else ""
    return name if name in TYPES else None


def tables_in(path: Path, tree: ast.Module) -> Iterator[Table]:
    named: dict[ast.AST, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name):
                named[statement.value] = target.id
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := kind_of(node)):
            yield Table(path, node.lineno, kind, named.get(node))


def loose_dictionaries(tree: ast.Module) -> Iterator[int]:
    """The lines of dictionaries keyed by names of architectures or instruction sets that are of neither type.

    Which of its frame records a recipe's compiler lays out is a fact about the recipe, not about an architecture.
    """
    allowed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if kind_of(node):
            allowed.update(ast.walk(node))
        elif isinstance(node, ast.keyword) and node.arg == "frame_records":
            allowed.update(ast.walk(node.value))
    for node in ast.walk(tree):
        keys: list[object] = []
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            keys = [keyword.arg for keyword in node.keywords]
        if node not in allowed and isinstance(node, ast.expr) and NAMES.intersection(map(str, keys)):
            yield node.lineno


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


MAY_HAVE_TABLES = [path for path in FILES if any(name in path.read_text(encoding="utf-8") for name in TYPES)]
TABLES = [table for path in MAY_HAVE_TABLES for table in tables_in(path, tree_of(path))]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_a_table_has_every_architecture_or_instruction_set(table: Table) -> None:
    assert table.name is not None, f"{table} stands where nobody can ask it: assign it at the top of the module"
    module = import_module(".".join(table.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    found = getattr(module, table.name)
    assert type(found) is TYPES[table.kind]
    wanted = WANTED[type(found)]
    lacks, strange = [name for name in wanted if name not in found], [name for name in found if name not in wanted]
    assert not lacks, f"{table} {table.name} has no entry for {', '.join(lacks)}"
    assert not strange, f"{table} {table.name} has entries for {', '.join(strange)}, which do not exist"


def test_no_other_dictionary_is_keyed_by_architectures() -> None:
    found = [f"{path.relative_to(ROOT)}:{line}" for path in FILES for line in loose_dictionaries(tree_of(path))]
    assert not found, "make it a PerArch or a PerIsa (testbed/arch/tables.py)"


def test_the_scan_sees_tables_and_what_is_none() -> None:
    tree = ast.parse(
        "A = PerArch({'arm64': 1})\n"
        "B: PerIsa[int] = PerIsa[int]({'thumb': 1}, because={'a32': 'x'})\n"
        "C = MappingProxyType({'arm64': 1})\n"
        "D = dict(arm32=2)\n"
        "def f():\n    return PerArch({'x86_64': 1})\n"
        "recipe(frame_records={'a32': 'r11'})\n"
        "E = {'armour': 1}\n"
    )
    assert [(t.kind, t.name) for t in tables_in(Path(), tree)] == [("PerArch", "A"), ("PerIsa", "B"), ("PerArch", None)]
    assert sorted(loose_dictionaries(tree)) == [3, 4]


def test_a_build_is_kept_by_the_tables_that_it_reads() -> None:
    """A table in another room that the build room imports decides what a build gives: an edit of it is never hidden."""
    tables = {table.path for table in TABLES}
    for path in FILES:
        if path.relative_to(ROOT).as_posix().startswith("testbed/build/"):
            modules = [node.module or "" for node in ast.walk(tree_of(path)) if isinstance(node, ast.ImportFrom)]
            read = {ROOT / (module.replace(".", "/") + ".py") for module in modules} & tables
            assert read <= set(own_files()), path


def test_the_list_for_contributors_names_every_module_with_a_table() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## The tables of an architecture")[1]
    named = re.findall(r"`([\w/]+\.py)", text.split("Not tables")[0].partition("| works |")[2])
    there = {table.path.relative_to(ROOT).as_posix() for table in TABLES}
    missing = [path for path in sorted(there) if not any(path.endswith(name) for name in named)]
    gone = [name for name in named if not any(path.endswith(name) for path in there)]
    assert (missing, gone) == ([], [])


def test_none_needs_a_reason() -> None:
    assert PerArch({"arm64": None}, because={"arm64": "a reason"})["arm64"] is None
    with pytest.raises(ValueError, match=r"None stands for \['arm64'\], reasons are given for \[\]"):
        PerArch({"arm64": None})
    with pytest.raises(ValueError, match=r"None stands for \[\], reasons are given for \['arm64'\]"):
        PerArch({"arm64": 1}, because={"arm64": "a reason"})
    with pytest.raises(ValueError, match="None stands for"):
        PerArch({"arm64": None}, because={"arm64": ""})


def test_a_name_that_is_not_there_says_what_to_do() -> None:
    with pytest.raises(KeyError, match=r"no instruction set 'mips', only a32; CONTRIBUTING.md lists the tables"):
        PerIsa({"a32": 1})["mips"]
    assert PerArch({"arm64": 1}).get("mips") is None
