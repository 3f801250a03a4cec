"""Where a program finds its libraries if nobody says: the host's own, or those of Debian's cross compilers.

Only folders of libraries are shown, nothing else of the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from testbed.arch import Arch, PerArch

_NATIVE = ("/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")
_SYSROOTS = PerArch(
    {
        "x86_64": {path: path for path in _NATIVE},
        "arm64": {"/lib": "/usr/aarch64-linux-gnu/lib", "/usr/lib": "/usr/aarch64-linux-gnu/lib"},
        "arm32": {"/lib": "/usr/arm-linux-gnueabihf/lib", "/usr/lib": "/usr/arm-linux-gnueabihf/lib"},
    }
)


def usual_sysroot(arch: Arch) -> Mapping[str, Path]:
    """Host folders by their path for a process; those that this host does not have are left out."""
    return {path: Path(host) for path, host in _SYSROOTS[arch.name].items() if Path(host).is_dir()}
