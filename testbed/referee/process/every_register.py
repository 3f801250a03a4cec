"""Tools that are handed all registers at once, and have no way to be told that one of them is not known.

A zero in its place would be a value: a frame pointer of zero is the end of the stack to most of them. So a snapshot
that lacks one is not shown to such a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

from testbed.arch import Arch
from testbed.contract.frames import Backtrace, nothing_found
from testbed.conventions import platform
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister

Unwind = Callable[[Snapshot], Backtrace]


def with_every_register(unwind: Unwind, names: Callable[[Arch], Iterable[str]]) -> Unwind:
    """``unwind``, but a snapshot without one of the registers ``names`` is a stop at the interrupted frame."""

    @wraps(unwind)
    def asked(snapshot: Snapshot) -> Backtrace:
        lacking = next((name for name in names(snapshot.arch) if name not in snapshot.registers), None)
        return unwind(snapshot) if lacking is None else nothing_found(snapshot, UnknownRegister(lacking))

    return asked


def all_recorded(arch: Arch) -> Iterable[str]:
    """Every register of an architecture, as a trace has them."""
    return arch.by_name


def all_kept(arch: Arch) -> Iterable[str]:
    """The registers that rows are about: those that calls preserve, and the link register."""
    return (*platform(arch).preserved, *([arch.link] if arch.link else []))
