"""Whether something comes true soon, and whether processes still run, for tests of what is left behind."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_LATE = 60.0  # seconds


def comes_true(what: Callable[[], object], seconds: float = _LATE) -> bool:
    """Whether something is so within some seconds: it is asked again and again."""
    until = time.monotonic() + seconds
    while not (found := bool(what())) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def is_running(process: int) -> bool:
    """True for a process that is not dead; one that nobody waited for is dead."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def are_gone(processes: Sequence[int]) -> bool:
    """Whether none of them runs, soon; one that still does is ended."""
    comes_true(lambda: not any(map(is_running, processes)))
    left = list(filter(is_running, processes))
    for process in left:
        os.kill(process, signal.SIGKILL)
    return not left
