"""A small module that one other module imports is a part of that one, unless a rule says why it is not.

Its reader would open two files for one thing, and the imports between them say nothing. What stands apart all the same:

* a *door*: whoever imports it is in another folder, so the merge would take it out of its room or its layer;
* what is loaded when it is needed: the import stands in a function, so that a command costs only what it uses;
* a *value* of a catalogue: a file for an architecture, for a convention or a family of them, for an unwinder, for a
  format that is both read and written, and the files of a real unwinder (`testbed/referee/TOOL`), which all have the
  same names; what a package's ``__init__`` gives on;
* what is named as a text elsewhere (``"package.module:name"``), which is one more user;
* a native module, whose file decides what machine code is kept;
* what would be too long together;
* for now, what is listed below as rewritten later.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.native.sources import is_native
from tests.house.sources import MOST_OF_A_MODULE, ROOT, module_name, modules, nodes
from unwinders import UNWINDERS

pytestmark = pytest.mark.whole

FEWEST_LINES = 150
# Rooms and modules that are rewritten as a whole; merges are made then.
REWRITTEN_LATER = (
    "testbed/truth",
    "testbed/checks/kept_groups.py",
)


@cache
def files() -> dict[str, Path]:
    """Every module of the project that can be merged or imported, by name."""
    return {module_name(path): path for folder in ("testbed", "unwinders") for path in modules(folder)}


def users(path: Path) -> Iterator[tuple[str, bool]]:
    """The modules that a file names: whose they are, and whether it needs them when it is loaded."""
    inside = {id(node) for each in nodes(path) if isinstance(each, ast.FunctionDef) for node in ast.walk(each)}
    for node in nodes(path):
        named: list[str] = []
        if isinstance(node, ast.ImportFrom):
            named = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = [text for text in [node.value.partition(":")[0]] if text in files()]
        for name in named:
            module = name if name in files() else name.rpartition(".")[0]
            if module in files():
                yield module, id(node) not in inside


@cache
def importers() -> dict[str, dict[str, bool]]:
    """For each module those that name it, and whether each needs it when it is loaded itself."""
    found: dict[str, dict[str, bool]] = {name: {} for name in files()}
    for name, path in files().items():
        for module, at_once in users(path):
            if module != name:
                found[module][name] = found[module].get(name, False) or at_once
    return found


def lines(name: str) -> int:
    return len(files()[name].read_text(encoding="utf-8").splitlines())


def stems(folder: str) -> set[str]:
    return {path.stem for path in modules(folder)} - {"__init__"}


@cache
def values() -> frozenset[str]:
    """The names of files that are values: architectures, conventions, unwinders, and the formats of snapshots and of
    tables, which one room writes and another one reads."""
    formats = (stems("testbed/export") & stems("testbed/foreign")) | (
        stems("testbed/build/tables") & stems("unwinders/formats")
    )
    return frozenset(formats | stems("testbed/conventions") | {*ARCHES, *UNWINDERS})


def stands_apart(name: str, importer: str, at_once: bool) -> str | None:
    """Why a module is one of its own although it has one importer; None where nothing says so."""
    path, other = files()[name], files()[importer]
    if path.parent != other.parent or path.stem == "__init__":
        return "its importer is in another room"
    if not at_once:
        return "it is loaded when it is needed"
    if other.stem == "__init__" and not any(isinstance(node, ast.FunctionDef) for node in nodes(other)):
        return "its package gives it on"
    if path.stem in values() or (path.parent / "unwinder.py").exists():
        return "it is a value of a catalogue"
    if is_native(name) or is_native(importer):
        return "a native module's file says what is kept"
    if lines(name) + lines(importer) > MOST_OF_A_MODULE:
        return "too long together"
    if path.relative_to(ROOT).as_posix().startswith(REWRITTEN_LATER):
        return "it is rewritten later"
    return None


def small_with_one_importer() -> Iterator[tuple[str, str, bool]]:
    for name, by in importers().items():
        if len(by) == 1 and lines(name) < FEWEST_LINES:
            ((importer, at_once),) = by.items()
            yield name, importer, at_once


def test_a_small_module_with_one_importer_is_a_part_of_it() -> None:
    apart = [(name, by) for name, by, at_once in small_with_one_importer() if not stands_apart(name, by, at_once)]
    assert apart == [], "merge each into its importer"


def test_what_is_rewritten_later_has_something_to_merge() -> None:
    small = [files()[name].relative_to(ROOT).as_posix() for name, *_ in small_with_one_importer()]
    assert [each for each in REWRITTEN_LATER if not any(path.startswith(each) for path in small)] == []


def test_the_second_file_of_a_format_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = ("unwinders.formats.sections", "unwinders.formats.cfi")
    monkeypatch.setattr(f"{__name__}.files", lambda: {name: ROOT / f"{name.replace('.', '/')}.py" for name in pair})
    assert stands_apart(*pair, at_once=True) is None
    assert stands_apart(*pair, at_once=False) == "it is loaded when it is needed"


def test_an_import_in_a_function_is_none_at_once(tmp_path: Path) -> None:
    path = tmp_path / "reading.py"
    path.write_text(
        "import testbed.arch\ndef f():\n    from unwinders.formats import cfi\nROWS = 'unwinders.formats.orc:rows'\n"
    )
    found = [("testbed.arch", True), ("unwinders.formats.cfi", False), ("unwinders.formats.orc", True)]
    assert sorted(users(path)) == found
