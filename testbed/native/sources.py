"""Native sources: the files that machine code is made from.

A module is *native* if it lies in a folder ``native/`` or is a file ``native.py``. Kernels are written in native
modules only, and those import nothing else from the project: the compiler freezes what a kernel calls and every
constant it sees into machine code, wherever that came from. So the hash of a native module, of all that it imports,
and of what compiles, says whether machine code is still that of its sources, and nobody has to list them.
"""

from __future__ import annotations

import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

NATIVE = "native"
_HERE = __name__.rpartition(".")[0]
IN_EVERY_KERNEL = {name: Path(__file__).with_name(f"{name}.py") for name in ("compiler", "emitted", "memory")}
_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+([\w., ]+))", re.MULTILINE)


def is_native(module: str) -> bool:
    """True of the dotted name of a native module."""
    return NATIVE in module.split(".")


@lru_cache(maxsize=256)
def made_from(module: str) -> str | None:
    """The hash of the files that a native module's machine code is made from, and of the versions of what compiles.

    None where the module's file is not known, or a file cannot be read.
    """
    found = hashlib.sha256()
    try:
        files = reached(module)
        if not files:
            return None
        for name, path in {**IN_EVERY_KERNEL, **files}.items():
            found.update(hashlib.sha256(name.encode("utf-8")).digest())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return None
    versions = (sys.implementation.cache_tag, sysconfig.get_platform(), *map(version, ("numba", "llvmlite")))
    found.update("\0".join(versions).encode("utf-8"))
    return found.hexdigest()


def reached(module: str) -> dict[str, Path]:
    """A native module, the native modules that it imports, and those in turn, in order; the file of each.

    Raises OSError where one cannot be read.
    """
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _file(name)
        if path is not None:
            found[name] = path
            waiting += filter(_counts, _imports(path.read_text(encoding="utf-8")))
    return dict(sorted(found.items()))


def _counts(module: str) -> bool:
    """What keeps and chooses machine code is in none of it."""
    return is_native(module) and module != _HERE and not module.startswith(f"{_HERE}.")


def _imports(text: str) -> Iterator[str]:
    """The names of modules that a source may import: of ``from a import b`` both ``a`` and ``a.b``."""
    for package, names, modules in _IMPORT.findall(text):
        if package:
            yield package
        for name in filter(None, re.split(r"[\s,()]+", names or modules)):
            yield f"{package}.{name}" if package else name


def _file(module: str) -> Path | None:
    """The file of a module, None for what is none; it lies where its package does, which is imported."""
    top, _, rest = module.partition(".")
    file = getattr(sys.modules.get(top), "__file__", None)
    if not file or Path(file).name != "__init__.py":
        return None
    path = Path(file).parent.joinpath(*rest.split(".")) if rest else Path(file)
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if rest and each.is_file()), None)
