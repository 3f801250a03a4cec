"""Tools that come as wheels: where their packages lie, and how a Python is started that has them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, distributions

from testbed.referee.model import Found


def own_packages(wheel: str, pinned: str = "") -> str:
    """The folder of packages that has a wheel, of this very environment; "" where there is none, or another version."""
    try:
        found = distribution(wheel)
    except PackageNotFoundError:
        return ""
    return str(found.locate_file("")) if pinned in ("", found.version) else ""


def wheel_in(packages: str, wheel: str) -> Found | None:
    """A wheel in a folder of packages: the version that it was made as, and where its package lies."""
    found = next(iter(distributions(name=wheel, path=[packages])), None)
    return Found(found.version, str(found.locate_file(wheel)), packages) if found else None


def python_with(packages: str) -> Sequence[str]:
    """The beginning of a command: this Python, which finds packages in a folder first, and none in the current one."""
    return ["env", f"PYTHONPATH={packages}", sys.executable, "-P"]
