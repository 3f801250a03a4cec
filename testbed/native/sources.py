"""Native sources: the files that machine code is made from.

A module is *native* if it lies in a folder ``native/`` or is a file ``native.py``. Compiled functions are written in
native modules only, and those import nothing else from the project: numba freezes what a function calls and every
constant it sees into the function's machine code, wherever that came from. So the hash of all native files says
whether machine code is still that of its sources, and nobody has to list them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

NATIVE = "native"
_PROJECT = Path(__file__).parents[2]
_PACKAGES = ("testbed", "unwinders")  # the compiled functions of one may be inlined into those of the other


def is_native(module: str) -> bool:
    """True of the dotted name of a native module."""
    return NATIVE in module.split(".")


def native_files(package: Path) -> Iterator[Path]:
    """The native modules in a package's folder, in order."""
    for place, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        inside = NATIVE in Path(place).relative_to(package).parts
        for name in sorted(files):
            if name.endswith(".py") and (inside or name == f"{NATIVE}.py"):
                yield Path(place, name)


def packages_for(module: str) -> tuple[Path, ...] | None:
    """The folders whose native files a function of ``module`` is made from; None where they are not known.

    They are those of the project and of the module's own package: a strategy of somebody else has its own natives.
    """
    folders = [_PROJECT / name for name in _PACKAGES]
    name = module.partition(".")[0]
    if name not in _PACKAGES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if not file or Path(file).name != "__init__.py":
            return None
        folders.append(Path(file).parent)
    return tuple(folders)


def digest(packages: Iterable[Path]) -> bytes:
    """The hash of all native files of some packages. Raises OSError."""
    found = hashlib.sha256()
    for package in packages:
        for path in native_files(package):
            name = path.relative_to(package.parent).as_posix().encode("utf-8")
            found.update(hashlib.sha256(name).digest() + hashlib.sha256(path.read_bytes()).digest())
    return found.digest()
