"""The catalogue of calling conventions. The first of an architecture is its platform's."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from testbed.arch import ARCHES, Arch
from testbed.conventions.aapcs32 import AAPCS32
from testbed.conventions.aapcs64 import AAPCS64, VECTOR
from testbed.conventions.go import GO
from testbed.conventions.model import Convention, SavedRegister
from testbed.conventions.ocaml import OCAML
from testbed.conventions.preserve import PRESERVE
from testbed.conventions.system_v import SVML, SYSTEM_V
from testbed.words.catalogue import nearest
from testbed.words.errors import UsageError

_ALL = (SYSTEM_V, SVML, AAPCS64, VECTOR, AAPCS32, *GO, *OCAML, *PRESERVE)
# By the architecture's name, then by their own.
CONVENTIONS: Mapping[str, Mapping[str, Convention]] = MappingProxyType(
    {arch: MappingProxyType({each.name: each for each in _ALL if each.arch.name == arch}) for arch in ARCHES}
)

__all__ = ["CONVENTIONS", "Convention", "SavedRegister", "convention_named", "platform"]


@cache
def platform(arch: Arch) -> Convention:
    """The convention of an architecture's platform: what holds where nothing says otherwise."""
    return next(iter(CONVENTIONS[arch.name].values()))


@cache
def convention_named(arch: Arch, text: str) -> Convention:
    """``NAME``, or ``NAME-REGISTER-REGISTER``: a convention, and which of its saved registers a helper changes besides.

    Raises UsageError where there is no such convention for the architecture, or it does not save the register.
    """
    name, *changed = text.split("-")
    if name not in CONVENTIONS[arch.name]:
        raise UsageError(f"no convention {name!r} for {arch}; {nearest(name, CONVENTIONS[arch.name])}")
    convention = CONVENTIONS[arch.name][name]
    saved = {each.name: each for each in convention.saved}
    for register in changed:
        if register not in saved:
            raise UsageError(f"{convention} of {arch} does not save {register!r}; {nearest(register, saved)}")
    return convention.changing(changed) if changed else convention


def _by_name(convention: Convention) -> tuple[Callable[[Arch, str], Convention], tuple[Arch, str]]:
    return convention_named, (convention.arch, convention.name)


copyreg.pickle(Convention, _by_name)  # worker processes get the catalogue's own value, not a copy
