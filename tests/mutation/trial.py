"""Mutants tried: each in a copy of the tree, its room's tests asked stage by stage until one fails."""

from __future__ import annotations

import compileall
import ctypes
import json
import os
import py_compile
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator

from testbed.native import compiled, machine_code
from testbed.native.sources import is_native
from tests.mutation.mutants import Mutant
from tests.mutation.rooms import ROOMS, ROOT

_COPIED = ("testbed", "unwinders", "programs", "tests", "benchmarks", "docs", "pyproject.toml", "README.md")
# Processor time, so that a busy machine kills no mutant.
_LONGER = 3  # a mutant may take this many times what the unchanged code takes, and ...
_SPARE = 40.0  # ... this many seconds more, before it counts as noticed: it hangs
_WAITS = 30  # one that hangs without computing may take so many times that by the clock
_MEMORY = 4 << 30  # bytes that it may hold: one that never stops collecting is ended before the machine is


class Fate(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant and its fate; ``stage`` is the number of the stage of tests that noticed it.

    ``seconds`` are those of the processor that its tests took, without what the unchanged code took before; None where
    an older version kept the clock's.
    """

    room: str
    mutant: Mutant
    fate: Fate
    stage: int
    seconds: float | None


def tried(room: str, mutants: Iterable[Mutant], *, jobs: int) -> Iterator[Trial]:
    """The fates of some mutants, in order, by ``jobs`` processes with a copy of the tree each.

    Raises RuntimeError where a test that a mutant comes to does not pass on the unchanged code.
    """
    with ProcessPoolExecutor(jobs, initializer=_copy_tree) as pool:
        running = [pool.submit(_try, room, mutant) for mutant in mutants]
        for future in running:
            yield future.result()


_copy: tempfile.TemporaryDirectory[str] | None = None


def _copy_tree() -> None:
    """The copy of the tree that this worker changes; it goes when the worker ends.

    It is compiled once, by the hash of each source: a mutant's module is compiled again, however soon it was changed.
    """
    global _copy
    _copy = tempfile.TemporaryDirectory(prefix="testbed-mutants-")
    skip = shutil.ignore_patterns("__pycache__", "*.png", "*.svg")
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, Path(_copy.name) / name, ignore=skip)
        elif source.is_file():
            shutil.copy(source, _copy.name)
    for name in ("testbed", "unwinders", "programs"):
        by_hash = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(Path(_copy.name) / name, quiet=2, invalidation_mode=by_hash)


def _try(room: str, mutant: Mutant) -> Trial:
    assert _copy is not None
    root, took = Path(_copy.name), 0.0
    stages = ROOMS[room].stages_for(mutant.module)
    in_python = is_native(".".join(Path(mutant.module).with_suffix("").parts))
    noticed = _noticed.setdefault((room, mutant.module), Counter())
    for stage in sorted(stages, key=lambda stage: -noticed[stage]):
        if (stage, in_python) not in _seconds:
            _seconds[stage, in_python] = _of_unchanged(room, stage, root, in_python=in_python)
        most = _LONGER * _seconds[stage, in_python] + _SPARE
        with use_mutation(root / mutant.module, get_operator(mutant.operator)(), mutant.occurrence):
            status, seconds = _tests(stage, root, most=most, in_python=in_python)
        took += seconds
        if status != 0:
            fate = Fate.TIMEOUT if status is None else Fate.KILLED
            noticed[stage] += 1
            return Trial(room, mutant, fate, stages.index(stage), took)
    return Trial(room, mutant, Fate.SURVIVED, len(stages), took)


_seconds: dict[tuple[tuple[str, ...], bool], float] = {}
_noticed: dict[tuple[str, str], Counter[tuple[str, ...]]] = {}
"""By room and module, how many of its mutants each stage has noticed: those that noticed the most are asked first."""


def _of_unchanged(room: str, stage: tuple[str, ...], root: Path, *, in_python: bool) -> float:
    """The processor seconds of a stage on the code as it is; asked when a mutant first comes to it."""
    status, seconds = _tests(stage, root, most=3600.0, in_python=in_python)
    if status != 0:
        raise RuntimeError(f"{room}: {' '.join(stage)} does not pass on the unchanged code: status {status}")
    return seconds


def _tests(stage: tuple[str, ...], root: Path, *, most: float, in_python: bool) -> tuple[int | None, float]:
    """The exit status of some tests in a tree, stopped at the first failure, and the processor seconds that they took.

    None for the status: more than ``most`` seconds, or too much memory. ``in_python``: a kernel is changed, and all
    kernels run as they stand. Those that C calls are compiled all the same, and what is compiled goes with the tree.

    No bytecode is written: a change within one second would not be seen.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--no-header", "-p", "no:cacheprovider", *stage]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    if in_python:
        environment |= {compiled.VARIABLE: "0", machine_code.VARIABLE: str(root / "native")}
    quiet, end, busy = subprocess.DEVNULL, time.monotonic() + _WAITS * most, 0.0
    before = _of_children()
    process = subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )
    while time.monotonic() < end and busy < most and _resident(process.pid) < _MEMORY:
        busy = _busy(process.pid)
        try:
            return process.wait(0.2), _of_children() - before
        except subprocess.TimeoutExpired:
            continue
    os.killpg(process.pid, 9)
    process.wait()
    return None, _of_children() - before


def _of_children() -> float:
    """The processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _busy(process: int) -> float:
    """The processor seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # utime, stime, cutime, cstime


def _resident(process: int) -> int:
    """The bytes of memory that a process holds."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


# Trials in a file, a line of JSON each: a run of hours can be interrupted, and repeated after a hole is closed.


class KeptTrials:
    """The trials of a file, read at once and added to one by one; without a file, none."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None and file.exists() else []
        every = [json.loads(line) for line in lines]
        self._told = {(told["room"], told["key"]): told for told in every}

    def settled(self, room: str, mutant: Mutant, *, equivalent: bool) -> Trial | None:
        """The trial that need not be made again; None where there is none yet, or a survivor may be noticed by now."""
        trial = self.last(room, mutant)
        return None if trial is not None and trial.fate is Fate.SURVIVED and not equivalent else trial

    def last(self, room: str, mutant: Mutant) -> Trial | None:
        """The last trial of a mutant, whatever became of it; None where there is none yet."""
        told = self._told.get((room, mutant.key))
        return None if told is None else Trial(room, mutant, Fate(told["fate"]), told["stage"], told.get("cpu_seconds"))

    def add(self, trial: Trial) -> None:
        """A trial more, written at once."""
        if self._file is None:
            return
        m = trial.mutant
        told = {"room": trial.room, "key": m.key, "module": m.module, "line": m.line, "operator": m.operator}
        told |= {"before": m.before, "after": m.after}
        told |= {"fate": trial.fate.value, "stage": trial.stage, "cpu_seconds": trial.seconds}
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(told) + "\n")


# Tests of spoiled code end with who runs them: a mutant that never ends would fill the machine's memory else.


_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone, be it killed: for ``preexec_fn``."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


# What is known of mutants that survived: equivalent, and why; or a hole, and the test that closes it.


FILE = Path(__file__).with_name("verdicts.json")


@dataclass(frozen=True, slots=True)
class SurvivorVerdict:
    """``equivalent``: no input can tell it from the code, because of ``why``; else ``why`` names the open hole."""

    equivalent: bool
    why: str


def known_verdicts(file: Path = FILE) -> Mapping[str, SurvivorVerdict]:
    """The verdicts by key: ``{key: {"mutant": text, "equivalent": bool, "why": sentence}}``."""
    if not file.exists():
        return {}
    told = json.loads(file.read_text(encoding="utf-8"))
    return {key: SurvivorVerdict(bool(said["equivalent"]), str(said["why"])) for key, said in told.items()}
