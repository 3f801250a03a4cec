"""The processes of a check end with it, also where it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

STARTS = """
import time
from testbed.checks.workers import worker_pool
if __name__ == "__main__":
    with worker_pool(2) as pool:
        futures = [pool.submit(time.sleep, 60) for _ in range(2)]
        while len(pool._processes) < 2:
            time.sleep(0.01)
        time.sleep(0.5)
        print(*pool._processes, flush=True)
        time.sleep(60)
"""


INTERRUPTED = """
import random, signal, sys, time
from testbed.campaign.matrix import judge_units
def work(job):
    time.sleep(0.0005)
    return job
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
list(judge_units(range(4), work, jobs=2))  # an interrupt amid an import may be lost: Python ignores it there
signal.setitimer(signal.ITIMER_REAL, random.Random(int(sys.argv[1])).uniform(0.1, 0.4))
try:
    for _ in judge_units(range(4000), work, jobs=2): pass
    print("all")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_at_any_time_ends_the_work() -> None:
    """It may come while the command waits for any of thousands of results; a lock left behind would end nothing."""
    for seed in range(8):
        command = [sys.executable, "-c", INTERRUPTED, str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.stdout == "interrupted\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
def test_workers_end_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    assert len(workers) == 2
    until = time.monotonic() + 60
    while any(map(_lives, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    left = [pid for pid in workers if _lives(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
