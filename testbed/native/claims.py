"""Processes that need the same machine code at once: one compiles it, the others wait for it.

A claim is a lock on a file beside the code, in which stands who holds it. The system takes it back from a process that
dies, and who has waited for `PATIENCE` seconds in which the holder did nothing compiles for itself: a process that is
stopped, or someone who holds locks for fun, costs no more than that, in all.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from testbed.words.files import own_folder

PATIENCE = 20.0  # seconds that this process waits for others that do nothing, in all
_POLL = 0.02

_claims: dict[Path, int] = {}  # the open file of each claim of this process
_waited = [0.0]


def claim(path: Path) -> None:
    """Wait while another process makes what belongs at a path; from then on it is for this one to make.

    Nothing is claimed where that cannot be said, or was waited for too long: making it twice is only slower.
    """
    if path in _claims:
        return
    with suppress(OSError):
        own_folder(path.parent)
        lock = path.with_suffix(".lock")
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        if _locked(file):
            _claims[path] = file
        else:
            os.close(file)


def release(path: Path) -> None:
    """What belongs at a path is there, or will not be."""
    file = _claims.pop(path, None)
    if file is None:
        return
    with suppress(OSError):
        path.with_suffix(".lock").unlink(missing_ok=True)
    with suppress(OSError):  # children of a fork have the file, too: it is unlocked for all of them
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def _locked(file: int) -> bool:
    since, before = time.monotonic(), ""
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(file, b"%-20d" % os.getpid(), 0)
            return True
        if (worked := _processor_time(file)) != before:
            since, before = time.monotonic(), worked
        if _waited[0] + time.monotonic() - since > PATIENCE:
            _waited[0] += time.monotonic() - since
            return False
        time.sleep(_POLL)


def _processor_time(file: int) -> str:
    """How long who holds a claim has computed; nothing where the system does not say."""
    with suppress(OSError, ValueError):
        return " ".join(Path(f"/proc/{int(os.pread(file, 20, 0))}/stat").read_text().rpartition(")")[2].split()[11:13])
    return ""
