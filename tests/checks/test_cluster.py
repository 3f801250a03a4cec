"""A check on a real Dask scheduler with two processes, one of which is killed on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.cluster import cluster_executor
from testbed.checks.options import CheckOptions
from testbed.checks.readers import Readers
from testbed.words.errors import TestbedError

distributed = pytest.importorskip("distributed")
pytest.importorskip("ziglang", reason="needs pip install ziglang")

READERS = Readers("unwinders:UNWINDERS", ("eh_frame",), "testbed.cli.expressions:evaluate_rule")
BODY = "".join(
    f".globl f{k}\n.type f{k}, @function\nf{k}: .cfi_startproc\n push %rbx\n"
    f"{'.cfi_def_cfa_offset 16' if k % 5 else ''}\n .zero 2100, 0x90\n pop %rbx\n"
    f"{'.cfi_def_cfa_offset 8' if k % 5 else ''}\n ret\n.cfi_endproc\n.size f{k}, .-f{k}\n"
    for k in range(20)
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "many.S"
    path.write_text(".text\n" + BODY, encoding="utf-8")
    return path


def test_a_killed_process_loses_nothing_and_nothing_comes_twice(source: Path) -> None:
    options = CheckOptions(runs=10, steps=2500)
    alone = check_file(source, options, READERS)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, scheduler_port=0
    ) as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]
        killed: list[int] = []

        def told(done: int, total: int) -> None:
            if done >= 1 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        with cluster_executor(cluster.scheduler_address) as executor:
            together = check_file(source, options, READERS, executor=executor, progress=told)
    assert killed
    assert len(alone.findings) == 4
    assert (together.findings, together.functions) == (alone.findings, alone.functions)
    assert (together.steps, together.runs, together.compared) == (alone.steps, alone.runs, alone.compared)


def test_where_no_scheduler_answers_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.checks.cluster._SECONDS", 1)
    with (
        pytest.raises(TestbedError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        cluster_executor("tcp://127.0.0.1:9"),
    ):
        pass
