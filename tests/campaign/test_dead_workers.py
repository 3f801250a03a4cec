"""A worker that is killed costs no result; a parent that is killed leaves no worker; no semaphores are needed."""

from __future__ import annotations

import multiprocessing.context
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

from testbed.campaign.matrix import judge_units
from testbed.words.errors import TestbedError

JOBS = 2


def without_semaphores(*unused: Any, **named: Any) -> NoReturn:
    raise PermissionError(13, "Permission denied")


@pytest.fixture(params=["a pool", "no semaphores"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With semaphores; and one without /dev/shm, which has none."""
    if request.param == "no semaphores":
        monkeypatch.setattr(multiprocessing.context.BaseContext, "Lock", without_semaphores)


@pytest.mark.usefixtures("machine")
def test_every_job_has_its_result() -> None:
    assert sorted(judge_units(range(6), lambda job: job * job, jobs=JOBS)) == [0, 1, 4, 9, 16, 25]
    with pytest.raises(ZeroDivisionError):
        list(judge_units(range(3), lambda job: 1 // (job - 1), jobs=JOBS))


@pytest.mark.usefixtures("machine")
def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    def work(job: int) -> int:
        if job == 2 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    assert sorted(judge_units(range(6), work, jobs=JOBS)) == [*range(6)]
    assert (tmp_path / "killed").exists()


def dies_of_two(job: int) -> str:
    if job == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return str(job)


@pytest.mark.usefixtures("machine")
def test_a_job_that_kills_its_worker_each_time_costs_its_own_result() -> None:
    found = list(judge_units(range(6), dies_of_two, jobs=JOBS, died=lambda job: f"{job} died"))
    assert sorted(text[:1] for text in found) == [*"012345"]
    assert [text for text in found if len(text) > 1] == ["2 died"]
    judging = judge_units(range(6), dies_of_two, jobs=JOBS)
    assert sorted(next(judging) for _ in range(5)) == [*"01345"]
    with pytest.raises(TestbedError, match=r"^2: the process"):
        next(judging)


_PARENT = """
import os, sys, time
from pathlib import Path
from testbed.campaign.matrix import judge_units
def work(job):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(60)
list(judge_units(range(2), work, jobs=2))
"""


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
def test_workers_of_a_matrix_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, tmp_path])
    until = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < JOBS and time.monotonic() < until:
        time.sleep(0.02)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    parent.kill()
    parent.wait()
    while any(map(running, workers)) and time.monotonic() < until:
        time.sleep(0.02)
    left = [pid for pid in workers if running(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(workers) == JOBS and not left
