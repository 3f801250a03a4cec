"""How kernels are compiled: what their decorators note, and the compiler reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class KernelForm(NamedTuple):
    """How a kernel is compiled. ``inline``: it becomes part of whoever calls it. Unless it ``allocates``, it makes no
    array, and counts no references to those it is given. ``pays_from``: how many steps, writes or words it goes through
    as Python in the time that compiling it takes. ``signature``: C calls it, with such arguments."""

    inline: bool = False
    allocates: bool = False
    pays_from: int = 100_000
    signature: str = ""


FORMS: dict[Callable[..., Any], KernelForm] = {}
EMITTED: set[Callable[..., Any]] = set()  # what `testbed.native.emitted` has machine code for, by name
