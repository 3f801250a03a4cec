"""Built files, kept by content in the user's cache folder (or ``TESTBED_CACHE``).

A file's name ends in the hash of everything that made it: source text, recipe, instruction set, tool versions and
the testbed's own build code. Beside each file lies its checksum, so a damaged file is built again instead of used,
as is one that others may have written: some are libraries, which this process loads.
Any number of processes may share the folder: files appear complete (written aside, then renamed).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from testbed.arch import Arch, Isa
from testbed.build.recipe import Recipe, Tool
from testbed.program.model import Program, Source
from testbed.words.errors import BuildError
from testbed.words.files import cache_folder, checksum, write_whole
from testbed.words.own_files import own_bytes, own_folder
from testbed.words.temporary import WorkFolder

_PACKAGES = ("ziglang", "keystone-engine", "capstone")
KEY_LENGTH = 24  # hexadecimal digits of the hash kept in a name: 96 bits


def key_of(source: Source, arch: Arch, isa: Isa, recipe: Recipe) -> str:
    """The hash of everything that decides what a build gives."""
    parts = (
        *source.texts,
        source.path.name,
        source.header.entry,
        arch.name,
        isa.name,
        recipe.start_of(isa),
        recipe.name,
        recipe.tool.name,
        *recipe.flags,
        *(f"{package} {_version(package)}" for package in _PACKAGES),
        tool_version(source, arch, recipe),
        _own_code(),
    )
    # A separator that no part contains: ("ab", "c") and ("a", "bc") differ.
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:KEY_LENGTH]


def tool_version(source: Source, arch: Arch, recipe: Recipe) -> str:
    """The version of the tools that build a source by a recipe, as they say it themselves.

    Raises ToolchainMissing for a tool that has to be asked and is not installed; wheels need not be.
    """
    if recipe.tool.gnu:
        from testbed.build.gnu import gnu_version  # loaded for a tool that has to be asked

        return gnu_version(arch, source)
    if recipe.tool is Tool.OTHER_CLANG:
        from testbed.build.compile import clang_version, find_other_zig

        return clang_version(find_other_zig())
    package = "keystone-engine" if recipe.tool is Tool.KEYSTONE else "ziglang"
    return f"{package} {_version(package)}"


def file_for(program: Program, isa: Isa, recipe: Recipe, key: str) -> Path:
    """Where a build lies, or will."""
    return cache_folder() / f"{program.name}.{isa.name}.{recipe.name}.{key}.{recipe.tool.suffix}"


def kept(path: Path, make: Callable[[], bytes], *, fresh: bool = False) -> Path:
    """The file at ``path``, made if it is not there, not whole, or ``fresh`` is asked for.

    Where the folder cannot be written, or others may write it, the file is a temporary one, as long as this process
    lives. Raises what ``make`` raises, and BuildError where there is no place for temporary files either.
    """
    if not fresh and _is_whole(path):
        return path
    content = make()
    try:
        own_folder(path.parent)
        write_whole(path, content)
        write_whole(_checksum_path(path), checksum(content))
        return path
    except OSError as error:  # a full disk, a folder that is read-only or another user's
        why = error.strerror or str(error)
    try:
        path = _not_kept().path / path.name
        path.write_bytes(content)
    except OSError as error:
        raise BuildError(
            f"the cache folder {path.parent} cannot be written: {why}; set TESTBED_CACHE to a folder that can "
            f"(nor is there a place for temporary files: {error.strerror or error}; set TMPDIR)"
        ) from error
    return path


@lru_cache(maxsize=1)
def _not_kept() -> WorkFolder:
    """Where built files are that cannot be kept."""
    return WorkFolder("built")


def usage() -> tuple[int, int]:
    """How many built files the cache holds, and their size in bytes."""
    sizes = [path.stat().st_size for path in _built_files()]
    return len(sizes), sum(sizes)


def clear() -> int:
    """Remove every built file; how many there were. Nothing else in the folder is touched."""
    removed = 0
    for path in list(_built_files()):
        with suppress(FileNotFoundError):  # another process clears too
            path.unlink()
            removed += 1
        _checksum_path(path).unlink(missing_ok=True)
    return removed


def _built_files() -> Iterator[Path]:
    for suffix in sorted({tool.suffix for tool in Tool}) if cache_folder().is_dir() else ():
        yield from cache_folder().glob(f"*.{'[0-9a-f]' * KEY_LENGTH}.{suffix}")


def _is_whole(path: Path) -> bool:
    try:
        return checksum(own_bytes(path)) == own_bytes(_checksum_path(path))
    except OSError:
        return False


def _checksum_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


@lru_cache(maxsize=8)
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def own_files() -> list[Path]:
    """The source files that decide what a build gives: this room's, and the tables of other rooms that it reads."""
    build = Path(__file__).parent
    rooms = build.parent
    tables = (rooms / "program" / "start.py", rooms / "image" / "capstone_isas.py")
    return sorted((*build.rglob("*.py"), *build.glob("*.toml"), *(rooms / "arch").glob("*.py"), *tables))


@lru_cache(maxsize=1)
def _own_code() -> str:
    """The hash of those files: an edited writer is never hidden."""
    digest = hashlib.sha256()
    for path in own_files():
        digest.update(path.name.encode("utf-8") + b"\0" + path.read_bytes())
    return digest.hexdigest()
