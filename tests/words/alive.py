"""Whether processes still run, for tests of what is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

_LATE = 60.0  # seconds


def is_running(process: int) -> bool:
    """True for a process that is not dead; one that nobody waited for is dead."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def are_gone(processes: Sequence[int]) -> bool:
    """Whether none of them runs, soon; one that still does is ended."""
    until = time.monotonic() + _LATE
    while any(map(is_running, processes)) and time.monotonic() < until:
        time.sleep(0.02)
    left = list(filter(is_running, processes))
    for process in left:
        os.kill(process, signal.SIGKILL)
    return not left
