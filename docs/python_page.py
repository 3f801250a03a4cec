"""results/processes-python.md: CPython with and without the trampolines of ``-X perf``, judged where a script runs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.image import describe, image_covering
from testbed.process.process_run import run_in_pieces
from testbed.profiling.judge import Judging
from testbed.profiling.result import WatchedThread
from testbed.report.phrases import share
from testbed.truth.truth import Truth
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import windows
from testbed.words.errors import ToolchainMissing
from unwinders import UNWINDERS

SCRIPT = Path(__file__).parent / "examples/walk.py"
ASKED = ("fp_chain", "eh_frame", "stack_scan")
RUNS_SCRIPT = "run_eval_code_obj"  # the function of CPython's that executes the file that was named
BUDGET = 100_000_000
INTRODUCTION = """# CPython, and its trampolines

Made by `python docs/regenerate.py --python` on {date}, with CPython {version}, x86_64: `python3 -I -S -X perf walk.py`,
where `walk.py` is [docs/examples/walk.py](../examples/walk.py), and the same without `-X perf`. Counted are the steps
at which the script runs: `{function}` is on the stack. *Trampolines* are the functions that `-X perf` writes,
one for each function of Python's that is called; *deepest* is how many of them were on the stack at once.

| | steps of all | steps of the script | in the interpreter's loop | in trampolines | deepest |
|---|---|---|---|---|---|
{runs}

## What each technique sees there

| | unwinder | right | honest stops | lies | unexplained | goes wrong first at a frame of |
|---|---|---|---|---|---|---|
{shares}
"""


def python_page() -> str:
    """The page, of two runs of one interpreter: the first found that has ``-X perf``. Raises ToolchainMissing."""
    installed = [sys.executable, *map(str, sorted(Path.home().glob(".pyenv/versions/*/bin/python3")))]
    program = next((each for each in installed if _version(each) >= (3, 12)), None)
    if program is None:
        raise ToolchainMissing("python3.12", "pyenv install 3.12")
    runs, shares, ways = [], [], {"with `-X perf`": ("-X", "perf"), "without": ()}
    with ProcessPoolExecutor(len(ways)) as pool:
        judged = list(pool.map(_judged, [program] * len(ways), ways.values()))
    for name, (run, said) in zip(ways, judged, strict=True):
        runs.append(f"| {name} | {' | '.join(f'{each:,}' for each in run)} |")
        shares += [f"| {name} | {line} |" for line in said]
    return INTRODUCTION.format(
        date=time.strftime("%Y-%m-%d"),
        version=".".join(map(str, _version(program))),
        function=RUNS_SCRIPT,
        runs="\n".join(runs),
        shares="\n".join(shares),
    )


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "-V"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.split()[1].split(".") if part.isdecimal())


def _judged(program: str, options: tuple[str, ...]) -> tuple[tuple[int, ...], list[str]]:
    """Counts of one run, and a line for each unwinder."""
    prefix = Path(program).resolve().parents[1]
    process = run_in_pieces(
        program,
        ["-I", "-S", *options, "/here/walk.py"],
        budget=BUDGET,
        folders={"/here": SCRIPT.parent, str(prefix): prefix},
    )
    (thread,) = process.threads
    assert process.run.status == 0, process.run.ending
    known = survey(lambda: windows(process.chunks(thread)))
    judgings = [Judging(UNWINDERS[name]) for name in ASKED]
    counts, deepest = Counter[str](), 0
    for truth, _ in watch(windows(process.chunks(thread)), known):
        window = truth.window
        depths = _depths(truth)
        rows = np.arange(window.start, window.stop)
        rows = rows[depths[1][truth.node[rows]] > 0]
        if not len(rows):
            continue
        names, of_row = np.unique(truth.trace.pc[rows], return_inverse=True)
        whose = [_whose(truth, pc) for pc in names.tolist()]
        for code, steps in zip(whose, np.bincount(of_row).tolist(), strict=True):
            counts[code] += steps
        deepest = max(deepest, int(depths[0][truth.node[rows]].max()))
        part = WatchedThread(thread.number, truth, window.start, window.stop, window.first)
        for judging in judgings:
            judging.add(part, rows)
        print(f"{window.end:,} of {thread.steps:,} steps", file=sys.stderr, flush=True)
    lines = []
    for each in (judging.share for judging in judgings):
        right, judged, wrong = each.exact + each.whole, each.judged, Counter[str]()
        for place in each.places:
            wrong["a trampoline" if place.library.startswith("perf-") else place.library] += place.steps
        told = [share(count, judged) for count in (right, each.stops, judged - right - each.stops)]
        first = ", ".join(f"{library} ({steps:,})" for library, steps in wrong.most_common(3))
        lines.append(f"`{each.name}` | {' | '.join(told)} | {each.unexplained:,} | {first or 'none'}")
    return (process.run.steps, counts.total(), counts["loop"], counts["trampoline"], deepest), lines


def _whose(truth: Truth, pc: int) -> str:
    loaded = image_covering(truth.trace.images, pc)
    if loaded is not None and loaded.image.path.name.startswith("perf-"):
        return "trampoline"
    return "loop" if describe(truth.trace.images, pc).startswith("_PyEval_EvalFrameDefault") else "else"


def _depths(truth: Truth) -> NDArray[np.int64]:
    """Of each activation how many trampolines are on the stack with it, and how many functions that run the script."""
    activations = truth.activations
    entries, of_entry = np.unique(truth.trace.pc[activations.opened], return_inverse=True)
    kinds = np.array(
        [
            (_whose(truth, pc) == "trampoline", describe(truth.trace.images, pc).startswith(RUNS_SCRIPT))
            for pc in entries.tolist()
        ],
        np.int64,
    )
    depths = kinds[of_entry].T.copy()
    for node, parent in enumerate(activations.parent.tolist()):
        if parent >= 0:
            depths[:, node] += depths[:, parent]
    return depths
