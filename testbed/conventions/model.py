"""What a function and its callers agree on, as data: a calling convention.

`Arch` says what the machine is, a `Convention` what code does with it. A machine has a convention for its platform, and
others for languages, for vector code, and for helpers whose callers know better.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from testbed.arch import Arch, FrameRecord


class SavedRegister(NamedTuple):
    """A callee-saved register: so many of its low bits come back as they were.

    ``column`` is the recorded register that shows these bits, or the lowest of them; None: no recording has any.
    """

    name: str
    bits: int
    column: str | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Convention:
    """A contract of functions and their callers. It is compared by identity.

    ``saved`` is what a function gives back unchanged besides SP, so a table that does not mention such a register means
    "same value". ``arguments`` and ``results`` are the integer ones in order; ``pointers`` are what callers give
    besides: the frame around a nested function's, a closure, where a large result belongs. ``fixed`` have a meaning of
    their own to all code of the convention (Go's goroutine): neither saved nor free, so nobody is judged by them.

    ``return_register`` is where the return address is at a function's first instruction; None: at SP. ``red_zone`` are
    the bytes below SP that a function may use because signals leave them alone. ``record`` is the frame record that the
    convention asks for; None: it asks for none. ``silent``: a table that leaves a saved register out says nothing of
    it, not "same value".
    """

    name: str
    title: str
    arch: Arch
    saved: tuple[SavedRegister, ...]
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    pointers: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    return_register: str | None
    stack_alignment: int
    red_zone: int = 0
    record: FrameRecord | None = None
    silent: bool = False

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Convention {self.name} of {self.arch}>"

    @cached_property
    def preserved(self) -> tuple[str, ...]:
        """The recorded registers that a function gives back unchanged, SP apart."""
        return tuple(dict.fromkeys(each.column for each in self.saved if each.column is not None))

    @property
    def judged(self) -> tuple[str, ...]:
        """The recorded registers that a table says something of in any case, so that all answers are held to them."""
        return () if self.silent else self.preserved

    @cached_property
    def unwatched(self) -> tuple[str, ...]:
        """The saved registers of which a recording shows not all bits that are saved."""
        bits = {register.name: register.bits for register in self.arch.registers}
        return tuple(each.name for each in self.saved if each.column is None or bits[each.column] < each.bits)

    def changing(self, registers: Iterable[str]) -> Convention:
        """The private contract of a helper that also changes these: its callers know."""
        lost = dict.fromkeys(registers)
        saved = tuple(each for each in self.saved if each.name not in lost)
        title = f"{self.title}; changes {', '.join(lost)}"
        return replace(self, name="-".join((self.name, *lost)), title=title, saved=saved)


def saved(arch: Arch, *names: str, bits: int | None = None) -> tuple[SavedRegister, ...]:
    """Callee-saved registers; without ``bits`` those of recorded registers, whole. ``q8`` is shown by ``d8``."""
    found = []
    for name in names:
        column = next((low for low in (name, f"d{name[1:]}" if name[0] == "q" else "") if low in arch.by_name), None)
        found.append(SavedRegister(name, arch.by_name[name].bits if bits is None else bits, column))
    return tuple(found)
