"""The catalogue of architectures: one frozen table each, in report order."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from types import MappingProxyType

from testbed.arch.arm32 import ARM32
from testbed.arch.arm64 import ARM64
from testbed.arch.model import Arch, FrameRecord, Isa, Register, RegisterPart
from testbed.arch.tables import PerArch, PerIsa
from testbed.arch.x86_64 import X86_64
from testbed.store.codec import coded_by_name
from testbed.words.catalogue import nearest
from testbed.words.errors import UsageError

ARCHES: Mapping[str, Arch] = MappingProxyType({arch.name: arch for arch in (X86_64, ARM64, ARM32)})

__all__ = ["ARCHES", "Arch", "FrameRecord", "Isa", "PerArch", "PerIsa", "Register", "RegisterPart", "arch_named"]


def arch_named(name: str) -> Arch:
    """The architecture of that name or alias (``aarch64`` is ``arm64``).

    Raises UsageError, listing the nearest names, for any other.
    """
    folded = name.lower()
    for arch in ARCHES.values():
        if folded == arch.name or folded in arch.aliases:
            return arch
    for arch in ARCHES.values():
        for isa in arch.isas:
            if folded == isa.name:
                raise UsageError(
                    f"{name!r} is an instruction set of {arch.name}: use --arch {arch.name} "
                    f"with a recipe for {isa.name} (testbed list recipes)"
                )
    raise UsageError(f"no architecture {name!r}; {nearest(folded, ARCHES)}")


def _by_name(arch: Arch) -> tuple[Callable[[str], Arch], tuple[str]]:
    return arch_named, (arch.name,)


copyreg.pickle(Arch, _by_name)  # worker processes get the catalogue's own value, not a copy: it is compared by identity
coded_by_name(Arch, ARCHES)  # in what is kept and printed
