"""What a real tool is given, and what it may use: generous beside what it needs, and an end to what runs wild."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from testbed.arch import Arch
from testbed.build.confined import Confinement
from testbed.contract.unwinder import Backtrace, nothing_found
from testbed.conventions import platform
from testbed.referee.model import Found
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister

# Tools that are handed all registers at once, and have no way to be told that one of them is not known.
#
# A zero in its place would be a value: a frame pointer of zero is the end of the stack to most of them. So a snapshot
# that lacks one is not shown to such a tool.

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


# Tools that come as wheels: where their packages lie, and how a Python is started that has them.


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
    return ["/usr/bin/env", f"PYTHONPATH={packages}", sys.executable, "-P"]


def printed(command: Sequence[str]) -> str:
    """What a program prints about itself; "" where it does not start, fails or does not end."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


_SECONDS = 30  # for a version
CPU_SECONDS = 4 * 3600  # of a process that serves whole programs; one answer has a time of its own
MEMORY = 16 << 30  # bytes of address space: LLDB alone maps two
FILE_SIZE = 256 << 20


def agents_confinement(folder: Path, ports: tuple[int, ...] = (), *, mapped: int = 0) -> Confinement:
    """It reads everything, as tools look for their parts in many places, and writes into ``folder`` only.

    ``mapped``: bytes of address space that it has already, as a copy of this process that stays one.
    """
    return Confinement(CPU_SECONDS, MEMORY + mapped, FILE_SIZE, None, (folder,), ports)


def mapped_now() -> int:
    """How many bytes of address space this process has (proc(5), statm)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()
