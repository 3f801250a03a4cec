"""The only way to compiled kernels: numba, with machine code kept on disk for exactly the sources it was made from.

numba's own ``cache=True`` looks at the file of the function that is called, not at those of what is inlined into it,
and keeps an index beside the code, which two processes can leave pointing at each other's. Here the key holds all
sources that a kernel reaches (`testbed.native.sources`), the versions of everything that compiles, numba's settings and
processor, and the types of the arguments. Kept is what Python or C calls, with all kernels that it calls in turn.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba import types
from numba.core import config, sigutils
from numba.core.caching import _Cache
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import typeof_impl

from testbed.native import emitted, machine_code
from testbed.native.claims import claim, release
from testbed.native.forms import EMITTED, FORMS, KernelForm
from testbed.native.machine_code import CODE
from testbed.native.sources import is_native, made_from

_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ERROR_MODEL")


@cache
def compiled_form(kernel: Callable[..., Any]) -> Any:
    """What Python calls, compiled when it is first called with arguments of some types; what C calls, compiled now."""
    form = FORMS[kernel]
    if form.signature:
        signature = sigutils.normalize_signature(form.signature)
        made = CFunc(kernel, signature, locals={}, options={}, pipeline_class=CompilerOfKernels)
    else:
        made = numba.njit(pipeline_class=CompilerOfKernels, **_options(form))(kernel)
    made._cache = KeptCode(kernel, form)  # type: ignore[attr-defined,unused-ignore]
    if form.signature:
        made.compile()
    return made


@cache
def _called_form(kernel: Callable[..., Any]) -> Any:
    """What another kernel calls: nothing that Python could call is made of it."""
    return numba.njit(no_cpython_wrapper=True, pipeline_class=CompilerOfCalled, **_options(FORMS[kernel]))(kernel)


def _options(form: KernelForm) -> dict[str, bool]:
    """Other threads run Python meanwhile."""
    return {"nogil": True, "no_cfunc_wrapper": True, "_nrt": form.allocates, "forceinline": form.inline}


class LinkedCode(JITCodeLibrary):  # type: ignore[misc,unused-ignore]
    """What only other kernels call: it becomes part of their code, and is optimized there, with all that they call.

    numba would optimize it and make machine code of it for itself, too, with all that it calls: at each step of a chain
    of calls once more.
    """

    codegen = SimpleNamespace(set_env=lambda name, env: None)  # there is no machine code that looks for it

    def _optimize_final_module(self) -> None:
        """Who calls it does."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Nowhere."""
        self._ensure_finalized()
        return 0


class KernelCode(JITCodeLibrary):  # type: ignore[misc,unused-ignore]
    """What Python or C calls. All that it calls in turn is for nobody else, so LLVM may leave arguments out that nobody
    reads, or that are always the same: an array is seven, a `NamedTuple` of arrays is hundreds."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class CompilerOfKernels(Compiler):  # type: ignore[misc,unused-ignore]
    """numba's compiler, of what Python or C calls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.state.library = KernelCode(self.state.targetctx.codegen(), "kernel")
        self.state.library.enable_object_caching()


class CompilerOfCalled(Compiler):  # type: ignore[misc,unused-ignore]
    """numba's compiler, of what only other kernels call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.state.library = LinkedCode(self.state.targetctx.codegen(), "called")


@typeof_impl.register(FunctionType)  # type: ignore[untyped-decorator,unused-ignore]
def _type_of_kernel(function: Callable[..., Any], _: object) -> Any:
    """A kernel, or what is emitted in its place, by its name in another kernel: a function that numba knows."""
    if function in EMITTED:
        return cpu_target.typing_context.resolve_value_type(getattr(emitted, function.__name__))
    return types.Dispatcher(_called_form(function)) if function in FORMS else None


class KeptCode(_Cache):  # type: ignore[misc,unused-ignore]
    """What numba asks for a function's machine code before it compiles, and tells afterwards."""

    def __init__(self, kernel: Callable[..., Any], form: KernelForm) -> None:
        self._form = form
        self._name = machine_code.name_of(kernel)
        self._module = kernel.__module__
        self._line = kernel.__code__.co_firstlineno
        # Now, not when it is compiled: a file that is edited in the meantime does not get the code of the one loaded.
        self._sources = made_from(kernel.__module__)

    @property
    def cache_path(self) -> str:
        return str(CODE.folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code kept for some types, or None. Of numba's own library code needs only what makes arrays: to look
        through all of it (``refresh``), as numba does before it compiles, is a third of the time of a short run."""
        if self._form.allocates:
            rtsys.initialize(target_context)
        file = self._file(sig)
        if file is None:
            return None
        for content in machine_code.kept(file):
            if (made := self._made(content, sig, target_context)) is not None:
                return made
        if CODE.get(file) is None:
            claim(CODE.path(file))
            if (compiled := CODE.get(file)) is not None:  # who had claimed it has compiled it
                release(CODE.path(file))
                return self._made(compiled, sig, target_context)
        return None

    def _made(self, content: bytes, sig: Any, target_context: Any) -> Any:
        """The code that a file holds; None where it is that of another processor, or not what this numba wrote."""
        key = self._key(sig, target_context.codegen())
        for_any = (key[0], "generic", "", *key[3:])  # what numba makes with NUMBA_CPU_NAME=generic
        try:
            held, code = pickle.loads(content)
            return CompileResult._rebuild(target_context, *code) if held in (key, for_any) else None
        except Exception:  # whole, and yet not what this numba wrote: as if it were not there
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        file = self._file(sig)
        if file is None:
            return
        try:
            if not data.library.has_dynamic_globals and made_from.__wrapped__(self._module) == self._sources:
                machine_code.keep(file, dumps((self._key(sig, data.codegen), data._reduce())))
        finally:
            release(CODE.path(file))

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        settings = tuple(str(getattr(config, name, "")) for name in _SETTINGS)
        return *codegen.magic_tuple(), self._sources, self._name, self._line, self._form, sig, settings

    def _file(self, sig: Any) -> str | None:
        if self._sources is None:
            return None
        for cls in _tuple_classes(getattr(sig, "args", sig)):
            if not is_native(cls.__module__):
                raise TypeError(f"{self._name} takes a {cls.__qualname__}, whose fields no native module says")
        return machine_code.file_of(self._sources, self._name, hashlib.sha256(repr(sig).encode("utf-8")).hexdigest())

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """Nobody asks for that."""

    def flush(self) -> None:
        """Nor for that."""


def _tuple_classes(kinds: Any) -> Iterator[type]:
    """The named tuples among types: code knows their fields by number, and a type only by name."""
    for kind in kinds:
        if isinstance(kind, types.BaseNamedTuple):
            yield kind.instance_class
        if isinstance(kind, types.BaseTuple):
            yield from _tuple_classes(kind.types)
