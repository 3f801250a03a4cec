"""Built files, kept by content in the user's cache folder (or ``TESTBED_CACHE``).

A file's name ends in the hash of everything that made it: source text, recipe, instruction set, tool versions and
the testbed's own build code. A damaged file is built again instead of used, as is one that others may have written
(`testbed.store`): some are libraries, which this process loads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from testbed.arch import Arch, Isa
from testbed.build.recipes import Recipe, Tool
from testbed.program.model import Program, Source
from testbed.store import KEY_LENGTH, KEY_PATTERN, KeptFiles, key_of
from testbed.words.errors import BuildError
from testbed.words.files import WorkFolder, code_of_files, version_of

_PACKAGES = ("ziglang", "keystone-engine", "capstone")
_SUFFIXES = ("so", *sorted({tool.suffix for tool in Tool}))
BUILT = KeptFiles(room="", patterns=tuple(f"*.{KEY_PATTERN}.{suffix}" for suffix in _SUFFIXES), beside=True)


def build_key(source: Source, arch: Arch, isa: Isa, recipe: Recipe) -> str:
    """The hash of everything that decides what a build gives."""
    return key_of(
        *source.texts,
        source.path.name,
        source.header.entry,
        arch.name,
        isa.name,
        recipe.start_of(isa),
        recipe.name,
        recipe.tool.name,
        *recipe.flags,
        *(f"{package} {version_of(package)}" for package in _PACKAGES),
        tool_version(source, arch, recipe),
        _own_code(),
    )[:KEY_LENGTH]


def tool_version(source: Source, arch: Arch, recipe: Recipe) -> str:
    """The version of the tools that build a source by a recipe, as they say it themselves.

    Raises ToolchainMissing for a tool that has to be asked and is not installed; wheels need not be.
    """
    if recipe.tool.gnu:
        from testbed.build.compile import gnu_version  # loaded for a tool that has to be asked

        return gnu_version(arch, source)
    if recipe.tool is Tool.OTHER_CLANG:
        from testbed.build.compile import clang_version, find_other_zig

        return clang_version(find_other_zig())
    package = "keystone-engine" if recipe.tool is Tool.KEYSTONE else "ziglang"
    return f"{package} {version_of(package)}"


def name_for(program: Program, isa: Isa, recipe: Recipe, key: str) -> str:
    """The name of a build's file."""
    return f"{program.name}.{isa.name}.{recipe.name}.{key}.{recipe.tool.suffix}"


def kept(name: str, make: Callable[[], bytes], *, fresh: bool = False) -> Path:
    """The built file of that name, made if it is not there, not whole, or ``fresh`` is asked for.

    Where the folder cannot be written, or others may write it, the file is a temporary one, as long as this process
    lives. Raises what ``make`` raises, and BuildError where there is no place for temporary files either.
    """
    if not fresh and BUILT.get(name) is not None:
        return BUILT.path(name)
    content = make()
    try:
        BUILT.put(name, content)
        return BUILT.path(name)
    except OSError as error:  # a full disk, a folder that is read-only or another user's
        why = error.strerror or str(error)
    try:
        path = _not_kept().path / name
        path.write_bytes(content)
    except OSError as error:
        raise BuildError(
            f"the cache folder {BUILT.folder} cannot be written: {why}; set TESTBED_CACHE to a folder that can "
            f"(nor is there a place for temporary files: {error.strerror or error}; set TMPDIR)"
        ) from error
    return path


@lru_cache(maxsize=1)
def _not_kept() -> WorkFolder:
    """Where built files are that cannot be kept."""
    return WorkFolder("built")


def own_files() -> list[Path]:
    """The source files that decide what a build gives: this room's, and the tables of other rooms that it reads."""
    build = Path(__file__).parent
    rooms = build.parent
    tables = (rooms / "program" / "start.py", rooms / "image" / "disassembly.py")
    return sorted((*build.rglob("*.py"), *build.glob("*.toml"), *(rooms / "arch").glob("*.py"), *tables))


@lru_cache(maxsize=1)
def _own_code() -> str:
    """The hash of those files: an edited writer is never hidden."""
    return code_of_files(own_files(), Path(__file__).parents[1])
