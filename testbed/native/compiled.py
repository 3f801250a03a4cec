"""The only way to compiled functions: numba, with machine code kept on disk for exactly the sources it was made from.

numba's own ``cache=True`` looks at the file of the function that is called, not at those of what is inlined into it,
and keeps an index beside the code, which two processes can leave pointing at each other's. Here the key holds all
native sources (`testbed.native.sources`), the versions of everything that compiles, numba's settings and processor, and
the types of the arguments.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core import config, sigutils
from numba.core.caching import _Cache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from testbed.native import machine_code
from testbed.native.claims import claim, release
from testbed.native.sources import digest, is_native, packages_for

Compilable = TypeVar("Compilable", bound=Callable[..., Any])

_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ERROR_MODEL")


def compiled(*, inline: bool = False, allocates: bool = False) -> Callable[[Compilable], Compilable]:
    """A function that is compiled when it is first called with arguments of some types.

    Other threads run Python meanwhile. ``inline``: it becomes part of whoever calls it. Unless it ``allocates``, it
    makes no array, and counts no references to those it is given. Raises TypeError for a function that is not at the
    top of a native module.
    """
    options = {"nogil": True, **({} if allocates else {"_nrt": False}), **({"forceinline": True} if inline else {})}

    def decorate(function: Compilable) -> Compilable:
        _check_place(function)
        made = numba.njit(**options)(function)
        if isinstance(made, Dispatcher):  # numba can be told not to compile
            made._cache = KeptCode(function, allocates)  # type: ignore[attr-defined,unused-ignore]
        return made  # type: ignore[no-any-return,unused-ignore]

    return decorate


def callback(signature: Any) -> Callable[[Callable[..., None]], Any]:
    """A function compiled at once for C to call: ``.address``. Raises TypeError as ``compiled`` does."""

    def decorate(function: Callable[..., None]) -> Any:
        _check_place(function)
        made = CFunc(function, sigutils.normalize_signature(signature), locals={}, options={})
        made._cache = KeptCode(function, allocates=False)  # type: ignore[attr-defined,unused-ignore]
        made.compile()
        return made

    return decorate


def _check_place(function: Callable[..., Any]) -> None:
    if not is_native(function.__module__) or "<locals>" in function.__qualname__:
        raise TypeError(
            f"{function.__module__}.{function.__qualname__}: a compiled function stands at the top of a module "
            "native.py or of one in a folder native/"
        )


class KeptCode(_Cache):  # type: ignore[misc,unused-ignore]
    """What numba asks for a function's machine code before it compiles, and tells afterwards."""

    def __init__(self, function: Callable[..., Any], allocates: bool) -> None:
        self._allocates = allocates
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._line = function.__code__.co_firstlineno
        self._packages = packages_for(function.__module__)
        # Now, not when it is compiled: a file that is edited in the meantime does not get the code of the one loaded.
        self._sources = sources(self._packages) if self._packages else None
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(machine_code.folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code kept for some types, or None. Of numba's own library code needs only what makes arrays: to look
        through all of it (``refresh``), as numba does before it compiles, is a third of the time of a short run."""
        if self._allocates:
            rtsys.initialize(target_context)
        key, path = self._key(sig, target_context.codegen()), self._path(sig)
        if path is None:
            return None
        if (content := machine_code.read(path)) is None:
            claim(path)
            content = machine_code.read(path)
            if content is None:
                return None
            release(path)
        try:
            held, code = pickle.loads(content)
            return CompileResult._rebuild(target_context, *code) if held == key else None
        except Exception:  # whole, and yet not what this numba wrote: as if it were not there
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        path = self._path(sig)
        if path is None:
            return
        try:
            if not data.library.has_dynamic_globals and sources.__wrapped__(self._packages) == self._sources:
                machine_code.keep(path, dumps((self._key(sig, data.codegen), data._reduce())))
        finally:
            release(path)

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        settings = tuple(str(getattr(config, name, "")) for name in _SETTINGS)
        return self._sources, self._name, self._line, sig, codegen.magic_tuple(), settings

    def _path(self, sig: Any) -> Path | None:
        if self._sources is None or not self._enabled:
            return None
        for cls in _tuple_classes(getattr(sig, "args", sig)):
            if not is_native(cls.__module__):
                raise TypeError(f"{self._name} takes a {cls.__qualname__}, whose fields no native module says")
        return machine_code.path_of(self._sources, self._name, hashlib.sha256(repr(sig).encode("utf-8")).hexdigest())

    @property
    def is_there(self) -> bool:
        return self._sources is not None and machine_code.is_kept(self._sources, self._name)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        if self._sources is not None:
            machine_code.forget(self._sources, self._name)


def _tuple_classes(kinds: Any) -> Iterator[type]:
    """The named tuples among types: code knows their fields by number, and a type only by name."""
    for kind in kinds:
        if isinstance(kind, types.BaseNamedTuple):
            yield kind.instance_class
        if isinstance(kind, types.BaseTuple):
            yield from _tuple_classes(kind.types)


@lru_cache(maxsize=4)
def sources(packages: tuple[Path, ...]) -> str | None:
    """The hash of the native files of some packages and of what compiles them; None where they cannot be read."""
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    try:
        return hashlib.sha256(digest(packages) + "\0".join(versions).encode("utf-8")).hexdigest()
    except OSError:
        return None
