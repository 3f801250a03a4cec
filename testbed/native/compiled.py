"""Kernels: functions that run as Python where a run is short, and compiled where it is long.

``@compiled()`` leaves a function what it is; who calls it says which form is wanted. Kernels call each other by their
names in both forms, and say the same:

    sooner(sweep, len(trace))(state, trace)

Work is begun as Python. A kernel is compiled once Python has spent, or would spend, about as long on it as compiling
takes, in this process or in those before: so all of them together take at most about twice as long as by the better
choice, whatever is still to come.

Machine words are ``np.uint64`` in both, and wrap around; an index is an int. The compiler is loaded when the first
compiled form is asked for. With ``TESTBED_JIT=0`` in the environment there is none: all kernels run as Python. With
``TESTBED_JIT=1`` nothing is too short to be compiled: so a release's machine code is made.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from testbed.native import machine_code
from testbed.native.forms import FORMS, KernelForm
from testbed.native.sources import is_native, made_from

Compilable = TypeVar("Compilable", bound=Callable[..., Any])
VARIABLE = "TESTBED_JIT"
LOADING = 20  # times faster than compiling it is to load the compiler, and code that is kept

_gone_through: Counter[Callable[..., Any]] = Counter()  # by each kernel, as far as this process knows


def compiled(
    *, inline: bool = False, allocates: bool = False, pays_from: int = 100_000, signature: str = ""
) -> Callable[[Compilable], Compilable]:
    """A kernel, of the form that `KernelForm` explains; with a ``signature`` it is for C to call, at its `address`.

    Raises TypeError for a function that is not at the top of a native module.
    """

    def decorate(function: Compilable) -> Compilable:
        if not is_native(function.__module__) or "<locals>" in function.__qualname__:
            raise TypeError(
                f"{function.__module__}.{function.__qualname__}: a compiled function stands at the top of a module "
                "native.py or of one in a folder native/"
            )
        FORMS[function] = KernelForm(inline, allocates, pays_from, signature)
        return function

    return decorate


def native(kernel: Compilable, *, when: bool = True) -> Compilable:
    """The compiled form of a kernel; where that is not wanted, or not allowed, the kernel as it stands."""
    if when and is_allowed():
        from testbed.native.compiler import compiled_form  # numba: only for a run that is long

        return compiled_form(kernel)  # type: ignore[no-any-return]
    return np.errstate(over="ignore")(kernel)


def sooner(kernel: Compilable, much: int) -> Compilable:
    """The form of a kernel that goes sooner through so many steps, writes or words, and what it went through before."""
    _gone_through[kernel] += much
    sources = made_from(kernel.__module__)
    if sources is not None and much * LOADING >= FORMS[kernel].pays_from and not pays(kernel, _gone_through[kernel]):
        by_all = machine_code.spent(sources, machine_code.name_of(kernel), much)
        _gone_through[kernel] = max(_gone_through[kernel], by_all)
    return native(kernel, when=pays(kernel, _gone_through[kernel]))


def pays(kernel: Callable[..., Any], much: int) -> bool:
    """True where a kernel goes through so much sooner if it is compiled, or loaded where its machine code is kept."""
    enough = FORMS[kernel].pays_from if os.environ.get(VARIABLE) != "1" else 0
    return much >= enough or ((much * LOADING >= enough or "numba" in sys.modules) and is_kept(kernel))


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
