"""A compiler, an assembler or a linker as a child process that is kept to limits and to files.

*Limits*: processor time, memory, size of a file. ``.space 0xfffffffff`` and ``.rept 1000000000`` end in an error that
says which one, and fill no disk.

*Files and network*: the child opens what lies in its own temporary folder and where tools and their headers are
installed, nothing else, and no socket. ``.incbin "/etc/passwd"`` opens nothing, however it is spelled: macros and
strings put together make any search in the text incomplete. On a kernel without Landlock only that search is left
(`testbed.build`): it stops a mistake, and no attacker.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from testbed.build.confinement import Confinement, TakenAway, confining, take_from_thread, taken_away

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
