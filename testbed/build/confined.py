"""A compiler, an assembler or a linker as a child process that is kept to limits and to files.

*Limits*: processor time, memory, size of a file. ``.space 0xfffffffff`` and ``.rept 1000000000`` end in an error that
says which one, and fill no disk.

*Files and network*: the child opens what lies in its own temporary folder and where tools and their headers are
installed, nothing else, and no socket. ``.incbin "/etc/passwd"`` opens nothing, however it is spelled: macros and
strings put together make any search in the text incomplete. On a kernel without Landlock only that search is left
(`testbed.build`): it stops a mistake, and no attacker.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import resource
import shutil
import signal
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

# What a child process may use, taken from it before it becomes another program. No privilege is needed.
#
# *Limits* (setrlimit): processor time, address space, size of a file, no core file.
#
# *Files* (Landlock, Linux 5.13 and newer): it reads what is named here, or everything, and writes only what is named.
#
# *Network*: none, or TCP connections to named ports of this machine. A seccomp filter refuses sockets; where a port is
# allowed it refuses all but local ones and those of the Internet's stream protocol, and Landlock (6.7 and newer) lets
# these connect to that port only.
#
# On a kernel without Landlock or seccomp what they do is not done; ``landlock_version`` and ``has_seccomp`` tell.
#
# Source: Linux, Documentation/userspace-api/landlock.rst and seccomp_filter.rst.

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on every architecture
_VERSION_FLAG, _PATH_BENEATH, _PORT, _NO_NEW_PRIVILEGES = 1, 1, 2, 38
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_ALL_OF_VERSION = (0, 0x1FFF, 0x3FFF, 0x7FFF)  # every right on files that a version of Landlock knows
_BIND, _CONNECT, _NETWORK_SINCE = 1, 2, 4
_ABSTRACT_SOCKETS, _SIGNALS, _SCOPES_SINCE = 1, 2, 6  # of processes outside
READ_ONLY = _EXECUTE | _READ | _LIST
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/zero")

# Of each machine that this runs on: AUDIT_ARCH, and the number of `socket`; io_uring_setup is 425 everywhere.
_SOCKET = dict((("x86_64", (0xC000003E, 41)), ("aarch64", (0xC00000B7, 198))))
_IO_URING = 425
_SET_SECCOMP, _GET_SECCOMP, _FILTER = 22, 21, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 13  # EACCES
_LOAD, _EQUALS, _AT_LEAST, _RETURN, _MASK = 0x20, 0x15, 0x35, 0x06, 0x54  # classic BPF
_X32 = 0x40000000  # from here on x86 has the numbers of its x32 ABI
_INTERNET, _INTERNET_6, _STREAM = 2, 10, 1

_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Confinement:
    """``memory`` and ``file_size`` are bytes; ``readable`` None: everything; ``ports`` are TCP's, of this machine."""

    cpu_seconds: int
    memory: int
    file_size: int
    readable: tuple[Path, ...] | None
    writable: tuple[Path, ...] = ()
    ports: tuple[int, ...] = ()


def landlock_version() -> int:
    """The version of Landlock that this kernel has switched on; 0: none."""
    return max(int(_LIBC.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG)), 0)


def has_seccomp() -> bool:
    """Whether the kernel takes filters of system calls, and they are known for this machine."""
    return platform.machine() in _SOCKET and int(_LIBC.prctl(_GET_SECCOMP, 0, 0, 0, 0)) >= 0


@dataclass(frozen=True, slots=True)
class TakenAway:
    """A confinement as system calls take it: limits (kind, soft, hard), Landlock's descriptor, seccomp's filter."""

    limits: tuple[tuple[int, int, int], ...]
    rules: int | None
    network: bytes


@contextmanager
def taken_away(what: Confinement) -> Iterator[TakenAway]:
    """What is taken from a child that this process starts as long as this context holds."""
    network = _socket_filter(bool(what.ports)) if has_seccomp() else b""
    with _ruleset(what) as rules:
        yield TakenAway(tuple(_limits(what)), rules, network)


def _limits(what: Confinement) -> Iterator[tuple[int, int, int]]:
    for limit, most in (
        (resource.RLIMIT_CPU, what.cpu_seconds),
        (resource.RLIMIT_AS, what.memory),
        (resource.RLIMIT_FSIZE, what.file_size),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        last = most + 1 if limit == resource.RLIMIT_CPU else most  # SIGXCPU first: it says which limit it was
        if hard != resource.RLIM_INFINITY:
            most, last = min(most, hard), min(last, hard)
        yield limit, most, last


@contextmanager
def confining(what: Confinement) -> Iterator[Callable[[], None]]:
    """What a child calls before it becomes another program: system calls only. It holds as long as this context.

    `testbed.build.confined` does without a call between fork and exec, which is dear in a large process.
    """
    with taken_away(what) as taken:

        def confine() -> None:
            for limit, soft, hard in taken.limits:
                resource.setrlimit(limit, (soft, hard))
            try:
                take_from_thread(taken)
            except OSError:
                os._exit(126)

        yield confine


def take_from_thread(taken: TakenAway) -> None:
    """Take files and network from this thread for ever, and from what it starts. Raises OSError if that fails."""
    _LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if taken.rules is not None and _LIBC.syscall(_RESTRICT, taken.rules, 0):
        raise OSError(ctypes.get_errno(), "Landlock does not take its rules")
    network = _FilterProgram(len(taken.network) // 8, taken.network)
    if taken.network and _LIBC.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(network), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp does not take its filter")


@contextmanager
def _ruleset(what: Confinement) -> Iterator[int | None]:
    """The descriptor of a ruleset, or None where the kernel has no Landlock."""
    version = landlock_version()
    if not version:
        yield None
        return
    known = _ALL_OF_VERSION[min(version, len(_ALL_OF_VERSION) - 1)]
    network = _BIND | _CONNECT if version >= _NETWORK_SINCE else 0
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if version >= _SCOPES_SINCE else 0
    handled = (ctypes.c_uint64 * 3)(known, network, scopes)
    size = 24 if scopes else 16 if network else 8
    rules = int(_LIBC.syscall(_CREATE, ctypes.byref(handled), ctypes.c_size_t(size), 0))
    if rules < 0:
        yield None
        return
    try:
        for path in (Path("/"),) if what.readable is None else what.readable:
            _allow(rules, path, READ_ONLY)
        for path in what.writable:
            _allow(rules, path, known)
        for path in map(Path, _DEVICES):
            _allow(rules, path, _READ | _WRITE)
        for port in what.ports if network else ():
            _add(rules, _PORT, struct.pack("<QQ", _CONNECT, port), f"port {port}")
        yield rules
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    """Allow what ``rights`` say beneath a path. One that is not there needs no rule."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = rights if path.is_dir() else rights & _FILE_RIGHTS
        _add(rules, _PATH_BENEATH, struct.pack("<Qi", rights, parent), str(path))
    finally:
        os.close(parent)


def _add(rules: int, kind: int, content: bytes, what: str) -> None:
    if _LIBC.syscall(_ADD, rules, kind, content, 0):
        raise OSError(ctypes.get_errno(), f"Landlock does not take {what}")


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _socket_filter(streams: bool) -> bytes:
    """A filter of system calls that refuses sockets; with ``streams`` those of TCP are let through, and local ones.

    A call of another ABI of the same machine (x86: 32 bits, x32) is refused as a whole: it would go around the filter.
    """
    machine, number = _SOCKET[platform.machine()]
    # (code, jump if true, jump if false, operand); at 0 is the number, at 4 the architecture, from 16 on the arguments
    if streams:
        socket = [
            (_LOAD, 0, 0, 16),
            (_EQUALS, 6, 0, 1),
            (_EQUALS, 1, 0, _INTERNET),
            (_EQUALS, 0, 3, _INTERNET_6),
            (_LOAD, 0, 0, 24),
            (_MASK, 0, 0, 0xF),
            (_EQUALS, 1, 0, _STREAM),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        ]
    else:
        socket = [(_RETURN, 0, 0, _REFUSE)]
    program = [
        (_LOAD, 0, 0, 4),
        (_EQUALS, 1, 0, machine),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
        (_EQUALS, 0, 1, _IO_URING),
        (_RETURN, 0, 0, _REFUSE),
        (_EQUALS, 1, 0, number),
        (_RETURN, 0, 0, _ALLOW),
        *socket,
    ]
    return b"".join(struct.pack("<HBBI", *one) for one in program)


# A confined child process that costs the same however large its parent is.
#
# What `confining` gives has to be called between fork and exec, so that subprocess forks: copying the page tables of a
# process that holds hundreds of megabytes takes longer than many a compile. Landlock and seccomp take from a thread
# what they take, and what a thread starts inherits it. So a thread of its own is confined here, starts the tool, and
# ends; it need not fork for that (vfork). Limits are a process's, and are set on the tool once it is there.


def start_confined(
    command: Sequence[str], what: Confinement, *, environment: Mapping[str, str], **options: Any
) -> subprocess.Popen[bytes]:
    """As subprocess.Popen, of a child from which ``what`` is taken first. Raises OSError where it cannot be run."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        # Python waits for ever for a thread that finds no memory to begin with.
        with confining(what) as confine:
            return subprocess.Popen(command, env=environment, preexec_fn=confine, **options)
    started: list[subprocess.Popen[bytes]] = []
    failed: list[Exception] = []

    def start(taken: TakenAway) -> None:
        try:
            take_from_thread(taken)
            started.append(subprocess.Popen(command, env=environment, **options))
        except Exception as error:
            failed.append(error)

    collecting = gc.isenabled()
    gc.disable()  # what garbage has to remove when it goes, the confined thread could not
    try:
        with taken_away(what) as taken:
            thread = Thread(target=start, args=(taken,), name="starts a confined process")
            thread.start()
            _ended(thread)
        if failed:
            raise failed[0]
        _limit(started[0].pid, taken.limits)
    except BaseException:  # Ctrl-C too: nobody else knows of the child yet
        for child in started:
            child.kill()
        raise
    finally:
        if collecting:
            gc.enable()
    return started[0]


def _ended(thread: Thread) -> None:
    """Wait for a thread that ends soon, through an interrupt, too."""
    try:
        thread.join()
    except BaseException:
        thread.join()
        raise


def _limit(process: int, limits: Sequence[tuple[int, int, int]]) -> None:
    """Set the limits of a process, and of those that it started before it had them. Later ones inherit them."""
    with suppress(ProcessLookupError):  # it is over
        for kind, soft, hard in limits:
            resource.prlimit(process, kind, (soft, hard))
    with suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split():
            _limit(int(child), limits)


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
