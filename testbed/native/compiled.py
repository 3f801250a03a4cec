"""Kernels: functions that run as Python where a run is short, and compiled where it is long.

``@compiled()`` leaves a function what it is; who calls it says which form is wanted. Kernels call each other by their
names in both forms, and say the same:

    native(sweep, when=len(trace) >= NATIVE_FROM)(state, trace)

Machine words are ``np.uint64`` in both, and wrap around; an index is an int. The compiler is loaded when the first
compiled form is asked for. With ``TESTBED_JIT=0`` in the environment there is none: all kernels run as Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from testbed.native import machine_code
from testbed.native.forms import FORMS, KernelForm
from testbed.native.sources import is_native, made_from

Compilable = TypeVar("Compilable", bound=Callable[..., Any])
VARIABLE = "TESTBED_JIT"


def compiled(*, inline: bool = False, allocates: bool = False) -> Callable[[Compilable], Compilable]:
    """A kernel. Raises TypeError for a function that is not at the top of a native module."""
    return _kernel(KernelForm(inline, allocates))


def callback(signature: str) -> Callable[[Compilable], Compilable]:
    """A kernel for C to call, at its `address`. Raises TypeError as ``compiled`` does."""
    return _kernel(KernelForm(signature=signature))


def _kernel(form: KernelForm) -> Callable[[Compilable], Compilable]:
    def decorate(function: Compilable) -> Compilable:
        if not is_native(function.__module__) or "<locals>" in function.__qualname__:
            raise TypeError(
                f"{function.__module__}.{function.__qualname__}: a compiled function stands at the top of a module "
                "native.py or of one in a folder native/"
            )
        FORMS[function] = form
        return function

    return decorate


def native(kernel: Compilable, *, when: bool = True) -> Compilable:
    """The compiled form of a kernel; where that is not wanted, or not allowed, the kernel as it stands."""
    if when and is_allowed():
        from testbed.native.compiler import compiled_form  # numba: only for a run that is long

        return compiled_form(kernel)  # type: ignore[no-any-return]
    return np.errstate(over="ignore")(kernel)


def address(kernel: Callable[..., Any]) -> int:
    """Where C calls a kernel: machine code, whatever the environment says."""
    from testbed.native.compiler import compiled_form

    return int(compiled_form(kernel).address)


def is_allowed() -> bool:
    """False where the environment says that nothing is to be compiled."""
    return os.environ.get(VARIABLE) != "0"


def is_kept(kernel: Callable[..., Any]) -> bool:
    """True where machine code of a kernel is on disk, for arguments of whatever types."""
    sources = made_from(kernel.__module__)
    return is_allowed() and sources is not None and machine_code.is_kept(sources, machine_code.name_of(kernel))
