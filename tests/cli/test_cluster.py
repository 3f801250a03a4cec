"""A check and a matrix on a real Dask scheduler with two processes, one of which is killed on the way."""

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, UnitResult, units
from testbed.campaign.matrix import judge_units, judge_units_by
from testbed.checks.check_file import check_file
from testbed.checks.inputs import program_file
from testbed.checks.options import CheckOptions
from testbed.checks.readers import Readers
from testbed.cli.cluster import cluster_executor
from testbed.cli.matrix import MatrixOptions, judge_job, lost_job
from testbed.words.errors import TestbedError
from tests.cli.command import Testbed, tells

distributed = pytest.importorskip("distributed")
pytest.importorskip("ziglang", reason="needs pip install ziglang")

READERS = Readers("unwinders:UNWINDERS", ("eh_frame",), "testbed.cli.table_readers:evaluate_rule")
BODY = "".join(
    f".globl f{k}\n.type f{k}, @function\nf{k}: .cfi_startproc\n push %rbx\n"
    f"{'.cfi_def_cfa_offset 16' if k % 10 else ''}\n .zero 1400, 0x90\n pop %rbx\n"
    f"{'.cfi_def_cfa_offset 8' if k % 10 else ''}\n ret\n.cfi_endproc\n.size f{k}, .-f{k}\n"
    for k in range(20)
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "many.S"
    path.write_text(".text\n" + BODY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two processes; one that dies is replaced."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, scheduler_port=0
    ) as cluster:
        yield cluster


class Killer:
    """Kills one process of the cluster, the first time that something is done."""

    def __init__(self, cluster: Any) -> None:
        self._pid = next(worker.pid for worker in cluster.workers.values() if worker.pid)
        self.killed = False

    def __call__(self, done: int = 1, total: int = 1) -> None:
        if not self.killed:
            self.killed = True
            os.kill(self._pid, signal.SIGKILL)


def test_a_killed_process_loses_nothing_and_nothing_comes_twice(source: Path, cluster: Any) -> None:
    options = CheckOptions(runs=4, steps=1600)
    alone = check_file(source, options, READERS)
    killer = Killer(cluster)
    with cluster_executor(cluster.scheduler_address) as executor:
        together = check_file(source, options, READERS, executor=executor, progress=killer)
    assert killer.killed
    assert len(alone.findings) == 2
    assert (together.findings, together.functions) == (alone.findings, alone.functions)
    assert (together.steps, together.runs, together.compared) == (alone.steps, alone.runs, alone.compared)


def test_the_same_of_a_matrix(cluster: Any) -> None:
    words = MatrixOptions(programs=("leaf_call", "tail_call"), names=("eh_frame", "ehabi"))
    planned = units(words.chosen_programs().values(), ARCHES.values(), [RECIPES["clang-asm"]])
    work = partial(judge_job, words=words)
    alone = {result.unit: (result, key) for result, key in judge_units(planned, work, jobs=1)}
    killer, together = Killer(cluster), []
    with cluster_executor(cluster.scheduler_address) as executor:
        for each in judge_units_by(executor, planned, work, lost_job):
            together.append(each)
            killer()
    assert killer.killed
    assert len(together) == len(planned) >= 6
    assert {result.unit: (result, key) for result, key in together} == alone
    assert all(result.cells and key for result, key in together)


def test_a_unit_over_which_every_process_dies_is_a_failed_one() -> None:
    unit = Unit("leaf_call", "x86_64", "clang-asm")
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        ((result, key),) = judge_units_by(pool, [unit], _die, lost_job)
    assert (result.unit, key) == (unit, "") and "died" in result.failed


def _die(unit: Unit) -> tuple[UnitResult, str]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError(unit)


def test_the_command_keeps_what_the_cluster_judged(testbed: Testbed, cluster: Any, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("cluster.json", "kept.json")]
    chosen = ("-p", "leaf_call", "-r", "clang-asm", "-u", "eh_frame", "-u", "stack_scan", "-j", "1")
    for file, how in zip(files, (("--fresh", "--cluster", cluster.scheduler_address), ()), strict=True):
        tells(testbed, 0, ("matrix", *chosen, *how, "-o", str(file)))
    first, second = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    assert first["cells"] == second["cells"] != []


def test_where_no_scheduler_answers_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.cli.cluster._SECONDS", 1)
    with (
        pytest.raises(TestbedError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        cluster_executor("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_sweep_by_the_cluster_says_the_same(testbed: Testbed, cluster: Any, tmp_path: Path) -> None:
    source, folder = tmp_path / "short.S", tmp_path / "files"
    source.write_text(".text\n" + BODY.replace(" .zero 1400, 0x90\n", ""), encoding="utf-8")
    folder.mkdir()
    with program_file(source, "x86_64", ()) as built:
        for name in ("a.so", "b.so"):
            (folder / name).write_bytes(built.read_bytes() + name.encode())
    command = ("sweep", str(folder), "--execute", "--json", "-j", "1")
    by = (("--cluster", cluster.scheduler_address), ())
    both = [testbed(*command, "-o", str(tmp_path / f"{k}.db"), *how).out for k, how in enumerate(by)]
    first, second = ({**json.loads(said), "seconds": 0} for said in both)
    assert first == second
    assert first["executed"][0]["wrong"] == 4
