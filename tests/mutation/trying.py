"""Tests of one copy of the tree, each time in a child forked from a process that has imported all but the project.

Started in the copy as `python -P tests/mutation/trying.py`; a question and its answer are a line of JSON each. So a
mutant is a plain edit of one file, read anew by every trial, and a trial costs little more than its tests.
"""

import ast
import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import coverage
import pytest

_OURS = ("testbed", "unwinders", "programs", "tests", "benchmarks", "docs", "conftest", "__main__")
_LONG = 40.0  # seconds: a test function is not asked whose cases (of a sample) take longer together, and ...
_CASES = 100  # ... of another one at most so many cases
# Processor time, so that a busy machine kills no mutant: one hangs where a test takes ...
_LONGER = 3  # ... so many times what it takes on the unchanged code, and ...
_SPARE = 5.0  # ... so many seconds more.
_MEMORY = 4 << 30  # bytes that it may hold: one that never stops collecting is ended before the machine is


class _Asked:
    """A plug-in of pytest: the tests that were asked for, in that order, each with a bound; what each took, and did.

    Without ``seconds`` all tests of the files are asked, those that take long left out, and ``reached`` is filled.
    """

    def __init__(self, seconds: dict[str, float], cover: coverage.Coverage | None) -> None:
        self.bounds, self.cover = seconds, cover
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.passed: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.cover is None:
            by_name = {item.nodeid: item for item in items}
            items[:] = [by_name[name] for name in self.bounds if name in by_name]
            return
        from tests import costs, sampling

        long = {name for name, took in costs.long_ones().items() if took > _LONG}
        out = set(sampling.left_out(items, long, _CASES))
        items[:] = [item for item in items if item not in out and not item.get_closest_marker("everything")]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = sum(os.times()[:4])
        if self.cover is None:
            signal.setitimer(signal.ITIMER_PROF, _LONGER * self.bounds[item.nodeid] + _SPARE)
        else:
            self.cover.switch_context(item.nodeid)
        result = yield
        self.seconds[item.nodeid] = sum(os.times()[:4]) - before
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)


def _child(files: Sequence[str], seconds: dict[str, float], modules: Sequence[str]) -> dict[str, Any]:
    """What became of some tests; of ``modules``, which tests reach which line."""
    root = os.getcwd()
    sys.path.insert(0, root)
    cover = coverage.Coverage(data_file=None, include=[f"{root}/{each}" for each in modules]) if modules else None
    if cover is not None:
        cover.start()
    asked = _Asked(seconds, cover)
    stops = [] if modules else ["-x"]
    how = ["-q", "-n0", "--no-header", "-p", "no:cacheprovider", f"--rootdir={root}", *stops]
    status = pytest.main([*how, *files], plugins=[asked])
    told: dict[str, Any] = {"status": int(status), "failed": asked.failed}
    if cover is None:
        return told
    cover.stop()
    known = asked.passed - set(asked.failed)
    data = cover.get_data()
    told["seconds"] = {name: took for name, took in asked.seconds.items() if name in known}
    told["lines"] = defaultdict(dict)
    for file in data.measured_files():
        called = _in_functions(Path(file).read_text(encoding="utf-8"))
        for line, contexts in data.contexts_by_lineno(file).items():  # whoever imports a module runs it for all
            tests = sorted(known.intersection(contexts)) if line in called else []
            told["lines"][os.path.relpath(file, root)][line] = tests
    told["modules"] = [name for name in sys.modules if name.partition(".")[0] not in _OURS]
    return told


def _in_functions(source: str) -> set[int]:
    """The lines that run where a function is called, and not where the module is imported."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _answered(asked: dict[str, Any]) -> dict[str, Any]:
    """One question answered by a child: {"status": None} where it did not come to an end, and what it took."""
    answer, end = Path(asked["answer"]), time.monotonic() + asked["most"]
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        end_with_parent()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        told = _child(asked["files"], asked["seconds"], asked["modules"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        answer.write_text(json.dumps(told), encoding="utf-8")
        os._exit(0)
    while (ended := os.wait4(child, os.WNOHANG))[0] == 0:
        pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
        if time.monotonic() > end or pages * resource.getpagesize() > _MEMORY:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # who was started by a test that came to no end
    told = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {"status": None, "failed": []}
    return {**told, "took": ended[2].ru_utime + ended[2].ru_stime}


_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone, be it killed: a mutant may never end by itself."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for question in map(json.loads, sys.stdin):
        for name in question["preload"]:
            with suppress(Exception):
                importlib.import_module(name)
        gc.freeze()
        print(json.dumps(_answered(question)), flush=True)
