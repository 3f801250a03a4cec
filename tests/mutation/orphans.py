"""Tests of spoiled code end with who runs them: a mutant that never ends would fill the machine's memory else."""

from __future__ import annotations

import ctypes
import signal

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone, be it killed: for ``preexec_fn``."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
