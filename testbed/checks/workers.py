"""Processes that check groups of functions, and end with the process that started them, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def worker_pool(jobs: int) -> ProcessPoolExecutor:
    """A pool of ``jobs`` processes (one at least); a job may be given to any of them."""
    return ProcessPoolExecutor(max(1, jobs), initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """Ask the kernel to end this process when its parent is gone, be it killed: nobody would read what it finds."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it went before it could be asked
        os._exit(1)
