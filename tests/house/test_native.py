"""Compiled functions are made in one way, in native modules, from nothing that the hash of native files leaves out."""

from pathlib import Path

import pytest

from testbed.native.sources import is_native
from tests.house.sources import ROOT, imported, modules, relative

pytestmark = pytest.mark.whole

DECORATORS = "testbed.native.compiled"
COMPILERS = ("testbed.native.compiler", "testbed.native.emitted")
WORDS = (DECORATORS, "testbed.native.memory")  # what kernels are written with
EVERYWHERE = [path for folder in ("testbed", "unwinders", "programs", "benchmarks", "docs") for path in modules(folder)]


def dotted(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")


def compiles(path: Path) -> bool:
    """Whether a file has kernels. To ask for the compiled form of one is another matter."""
    text = path.read_text(encoding="utf-8")  # most files need no parsing to see that they do not
    return "compiled" in text and f"{DECORATORS}.compiled" in imported(path)


COMPILED = [path for path in EVERYWHERE if compiles(path)]


@pytest.mark.parametrize("path", EVERYWHERE, ids=relative)
def test_the_compiler_is_asked_by_the_decorators_only(path: Path) -> None:
    if dotted(path) not in COMPILERS:
        for name in imported(path):
            assert name.split(".")[0] not in ("numba", "llvmlite"), f"{relative(path)} imports {name}: use {DECORATORS}"


@pytest.mark.parametrize("path", COMPILED, ids=relative)
def test_compiled_functions_stand_in_native_modules_and_see_only_those(path: Path) -> None:
    """Whatever one imports, and that imports in turn, may end as a number in machine code."""
    assert is_native(dotted(path)), f"{relative(path)}: its compiled functions belong in a native module"
    seen, new = set(), [path]
    while new:
        user = new.pop()
        seen.add(user)
        for name in imported(user):
            source = next((found for found in map(file_of, (name, name.rpartition(".")[0])) if found), None)
            if source is None or dotted(source) in WORDS:
                continue
            assert is_native(dotted(source)), f"{relative(user)}, seen by {relative(path)}, imports {name}"
            new += {source} - seen


def file_of(module: str) -> Path | None:
    """The file of a module of the project; None for a package, which says nothing, and for what is not ours."""
    path = ROOT / (module.replace(".", "/") + ".py")
    return path if module and path.is_file() else None


def test_there_are_compiled_functions() -> None:
    assert {"testbed.machine.native.hooks", "unwinders.rows.native.sweep"} < set(map(dotted, COMPILED))
