"""Which code a result came from: the hash of a package's sources, and the versions of installed libraries."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_SOURCES = (".py", ".c", ".cpp", ".h")


@lru_cache(maxsize=16)
def code_of(package: str) -> str:
    """The hash of every source file of a package; "" for one that is not made of files (a notebook).

    Whatever a strategy calls outside its own package is not seen: after a change there, ask for a fresh result.
    """
    file = getattr(sys.modules.get(package), "__file__", None)
    if package == "__main__" or not file:
        return ""
    root = Path(file)
    package_files = (path for path in root.parent.rglob("*") if path.suffix in _SOURCES)
    files = sorted(package_files) if root.name == "__init__.py" else [root]
    return code_of_files(files, root.parent.parent)


def code_of_files(files: Iterable[Path], root: Path) -> str:
    """The hash of some files: their paths below a folder, and what is in them."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(b"\0" + path.relative_to(root).as_posix().encode("utf-8") + b"\0" + path.read_bytes())
    return digest.hexdigest()


def versions_of(libraries: Iterable[str]) -> tuple[str, ...]:
    """Python's version, and those of some libraries."""
    return sys.version, *(f"{library} {version_of(library)}" for library in libraries)


@lru_cache(maxsize=16)
def version_of(library: str) -> str:
    """The installed version of a library, or "absent"."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"
