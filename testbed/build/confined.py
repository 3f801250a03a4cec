"""A compiler, an assembler or a linker as a child process that is kept to limits and to files.

*Limits* (setrlimit): processor time, memory, size of a file. ``.space 0xfffffffff`` and ``.rept 1000000000`` end in an
error that says which one, and fill no disk.

*Files* (Landlock, Linux 5.13 and newer, without any privilege): the child opens what lies in its own temporary folder
and where tools and their headers are installed, nothing else. ``.incbin "/etc/passwd"`` opens nothing, however it is
spelled: macros and strings put together make any search in the text incomplete. On a kernel without Landlock only that
search is left (`testbed.build.host_files`): it stops a mistake, and no attacker.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

CPU_SECONDS = 30  # a compile takes 0.06
MEMORY = 2 << 30  # bytes of address space
FILE_SIZE = 64 << 20  # bytes; the largest program of the corpus has 0.1 million
WALL_SECONDS = 120

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on every architecture
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_ALL_OF_VERSION = (0, 0x1FFF, 0x3FFF, 0x7FFF)  # every right that a version of Landlock knows
_READ_ONLY = _EXECUTE | _READ | _LIST
# What tools, their libraries and the dynamic loader read. No user's files are there.
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/zero")
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ

_LIBC = ctypes.CDLL(None, use_errno=True)

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


def landlock_version() -> int:
    """The version of Landlock that this kernel has switched on; 0: none."""
    return max(int(_LIBC.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG)), 0)


def run_confined(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a tool in ``folder``.

    Raises OSError where it cannot be run, subprocess.TimeoutExpired after WALL_SECONDS.
    """
    places = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder), **(environment or {})}
    with _ruleset(folder, [Path(command[0]).resolve().parent]) as rules:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=places,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_limited(rules),
        )
    try:
        output, errors = child.communicate(timeout=WALL_SECONDS)
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


def _limited(rules: int | None) -> Callable[[], None]:
    """What the child does before it becomes the tool: system calls only."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if rules is not None:
            _LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            if _LIBC.syscall(_RESTRICT, rules, 0):
                os._exit(126)

    return limit


@contextmanager
def _ruleset(folder: Path, readable: Iterable[Path]) -> Iterator[int | None]:
    """The descriptor of a ruleset, or None where the kernel has no Landlock."""
    version = landlock_version()
    if not version:
        yield None
        return
    known = _ALL_OF_VERSION[min(version, len(_ALL_OF_VERSION) - 1)]
    handled = ctypes.c_uint64(known)
    rules = int(_LIBC.syscall(_CREATE, ctypes.byref(handled), ctypes.c_size_t(ctypes.sizeof(handled)), 0))
    if rules < 0:
        yield None
        return
    try:
        _allow(rules, folder, known)
        for path in (*map(Path, _SYSTEM), *readable):
            _allow(rules, path, _READ_ONLY)
        for path in map(Path, _DEVICES):
            _allow(rules, path, _READ | _WRITE)
        yield rules
    finally:
        os.close(rules)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _allow(rules: int, path: Path, rights: int) -> None:
    """Allow what ``rights`` say beneath a path. One that is not there needs no rule."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = rights if path.is_dir() else rights & _FILE_RIGHTS
        beneath = _PathBeneath(rights, parent)
        if _LIBC.syscall(_ADD, rules, _PATH_BENEATH, ctypes.byref(beneath), 0):
            raise OSError(ctypes.get_errno(), f"Landlock does not take {path}")
    finally:
        os.close(parent)
