"""A confined child process that costs the same however large its parent is.

What `confining` gives has to be called between fork and exec, so that subprocess forks: copying the page tables of a
process that holds hundreds of megabytes takes longer than many a compile. Landlock and seccomp take from a thread what
they take, and what a thread starts inherits it. So a thread of its own is confined here, starts the tool, and ends; it
need not fork for that (vfork). Limits are a process's, and are set on the tool once it is there.
"""

from __future__ import annotations

import gc
import resource
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from testbed.build.confinement import Confinement, TakenAway, confining, take_from_thread, taken_away


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
