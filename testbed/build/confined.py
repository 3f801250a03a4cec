"""A compiler, an assembler or a linker as a child process that is kept to limits and to files.

*Limits*: processor time, memory, size of a file. ``.space 0xfffffffff`` and ``.rept 1000000000`` end in an error that
says which one, and fill no disk.

*Files and network*: the child opens what lies in its own temporary folder and where tools and their headers are
installed, nothing else, and no socket. ``.incbin "/etc/passwd"`` opens nothing, however it is spelled: macros and
strings put together make any search in the text incomplete. On a kernel without Landlock only that search is left
(`testbed.build.host_files`): it stops a mistake, and no attacker.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from testbed.build.confined_start import start_confined
from testbed.build.confinement import Confinement

CPU_SECONDS = 30  # a compile takes 0.06
MEMORY = 2 << 30  # bytes of address space
FILE_SIZE = 64 << 20  # bytes; the largest program of the corpus has 0.1 million
WALL_SECONDS = 120

# What tools, their libraries and the dynamic loader read. No user's files are there.
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store", "/etc/ld.so.cache")
SYSTEM = tuple(map(Path, _SYSTEM))

# How a tool says that it met a limit, where it is not killed itself but its own child is.
_SAYINGS = (
    ("SIGXCPU", f"{CPU_SECONDS} s of processor time", ("CPU time limit exceeded",)),
    ("SIGXFSZ", f"a file of {FILE_SIZE >> 20} MB", ("File size limit exceeded", "File too large", "file too large")),
    (
        "SIGSEGV",
        f"{MEMORY >> 30} GB of memory",
        ("out of memory", "memory exhausted", "Cannot allocate memory", "bad_alloc", "virtual memory"),
    ),
)


def run_confined(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    readable: Sequence[Path] | None = (),
    cpu_seconds: int | None = None,
    at: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a tool in ``folder``, which it may write, or in ``at``.

    ``readable`` are files and folders that it may read besides (None: everything).
    Raises OSError where it cannot be run, subprocess.TimeoutExpired where it takes far longer than its processor time.
    """
    cpu = cpu_seconds or CPU_SECONDS
    places = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder), **(environment or {})}
    own = [Path(there).resolve().parent] if (there := shutil.which(command[0])) else []
    reads = None if readable is None else (*SYSTEM, *own, *readable)
    what = Confinement(cpu, MEMORY, FILE_SIZE, reads, (folder,))
    child = start_confined(
        command,
        what,
        environment=places,
        cwd=at or folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = child.communicate(timeout=max(WALL_SECONDS, 4 * cpu))
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # a driver's own children too
        child.communicate()
        raise
    return subprocess.CompletedProcess(command, child.returncode, output, errors)


def limit_met(returncode: int, printed: str) -> str:
    """The limit that ended a tool, as in "more than ...", or ""."""
    killed = signal.Signals(-returncode).name if returncode < 0 else ""
    for name, what, sayings in _SAYINGS:
        if (killed == name and name != "SIGSEGV") or any(saying in printed for saying in sayings):
            return what
    return _SAYINGS[0][1] if killed == "SIGKILL" else ""
