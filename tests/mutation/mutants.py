"""The mutants of a module: where a small change is possible, what it is, and which of them cannot matter.

Left out are places that no verdict follows from: annotations (never evaluated here), imports, docstrings, ``__all__``,
decorators (frozen or not, remembered or not), whether a field is shown (``repr=``). All else is in, also what looks
equivalent: that is said of it one by one.
"""

from __future__ import annotations

import ast
import compileall
import ctypes
import difflib
import hashlib
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
from functools import cache
from pathlib import Path
from random import Random

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code, use_mutation
from cosmic_ray.plugins import get_operator, operator_names

from testbed.native import compiled, machine_code
from testbed.native.sources import is_native
from tests.mutation.rooms import ROOMS, ROOT

# Operators of cosmic-ray that change what Python code computes; decorators are no part of that here.
_LEFT_OUT = ("core/RemoveDecorator", "core/NoOp", "core/VariableReplacer", "core/VariableInserter")


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One change: the ``occurrence``-th place of an operator in a module.

    ``before`` and ``after`` are the changed line, ``line`` its number today, ``within`` the function or class it is in.
    """

    module: str
    within: str
    line: int
    operator: str
    occurrence: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """A name that stays while the line stays in its function: a verdict on a survivor is kept under it."""
        told = "\0".join((self.module, self.within, self.operator, self.before, self.after))
        return hashlib.sha256(told.encode("utf-8")).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: `{self.before}` -> `{self.after}`"


@dataclass(frozen=True, slots=True)
class MutantPlace:
    """A place in a module that something can be changed at, and the (operator, occurrence) of each change there.

    ``kind`` is what can be changed, ``within`` the function or class that the line ``text`` is in.
    """

    module: Path
    start: tuple[int, int]
    kind: str
    within: str
    text: str
    changes: tuple[tuple[str, int], ...]


def places_of(path: Path) -> tuple[MutantPlace, ...]:
    """The places of a module, in the order of its lines. A kind of change (another comparison, say) is one place."""
    return _places_in(path, (ROOT / path).read_text(encoding="utf-8"))


@cache  # finding them takes most of a run's own time
def _places_in(path: Path, source: str) -> tuple[MutantPlace, ...]:
    silent, annotations, tree = _silent_lines(source), _annotations(source), get_ast(source)
    found: dict[tuple[tuple[int, int], str], list[tuple[str, int]]] = {}
    for name in sorted(operator_names()):
        if name.startswith(_LEFT_OUT):
            continue
        for occurrence, (start, _) in enumerate(_positions(tree, get_operator(name)())):
            if start[0] not in silent and not _in(annotations, start):
                found.setdefault((start, name.partition("_")[0]), []).append((name, occurrence))
    lines, around = source.splitlines(), _definitions(source)
    return tuple(
        MutantPlace(path, start, kind, around[start[0] - 1], lines[start[0] - 1], tuple(changes))
        for (start, kind), changes in sorted(found.items())
    )


def mutant(place: MutantPlace, change: tuple[str, int]) -> Mutant | None:
    """One change made; None where the code stays the same, or is none any more."""
    source = (ROOT / place.module).read_text(encoding="utf-8")
    operator, occurrence = change
    changed = mutate_code(source, get_operator(operator)(), occurrence)
    if changed is None or _same_code(source, changed):
        return None
    line, before, after = _difference(source, changed)
    return Mutant(place.module.as_posix(), place.within, line, operator, occurrence, before, after)


def all_mutants(paths: Iterable[Path]) -> Iterator[Mutant]:
    """Every change at every place."""
    for path in paths:
        for place in places_of(path):
            yield from (made for change in place.changes if (made := mutant(place, change)) is not None)


def sampled_mutants(paths: Iterable[Path], count: int, seed: str) -> Iterator[Mutant]:
    """``count`` places drawn from all of them, one change at each, drawn too: the same for the same code and seed.

    A smaller sample is the beginning of a larger one, and a change of one line draws no others anew: each place has a
    number of its own, and the lowest ones are taken.
    """

    def number(place: MutantPlace) -> int:
        told = (seed, place.module.as_posix(), place.within, place.text, str(place.start[1]), place.kind)
        return int.from_bytes(hashlib.sha256("\0".join(told).encode("utf-8")).digest(), "big")

    for place in sorted((place for path in paths for place in places_of(path)), key=number):
        if count == 0:
            return
        made = mutant(place, Random(number(place)).choice(place.changes))
        if made is not None:
            count -= 1
            yield made


def _definitions(source: str) -> list[str]:
    """The function or class that each line is in, the innermost; "" for the module. Of equal lines there the second
    one is told as ``name 2``.
    """
    lines = source.splitlines()
    around = [""] * len(lines)
    for node in ast.walk(ast.parse(source)):  # the outer ones come first
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            last = node.end_lineno or node.lineno
            around[node.lineno - 1 : last] = [node.name] * (last - node.lineno + 1)
    seen: Counter[tuple[str, str]] = Counter()
    for i, line in enumerate(lines):
        seen[around[i], line.strip()] += 1
        times = seen[around[i], line.strip()]
        around[i] += f" {times}" if times > 1 else ""
    return around


def _positions(tree: object, operator: object) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []

    class Positions(Visitor):  # type: ignore[misc]
        def visit(self, node: object) -> object:
            found.extend(operator.mutation_positions(node))  # type: ignore[attr-defined]
            return node

    Positions().walk(tree)
    return found


def _same_code(source: str, changed: str) -> bool:
    try:
        return ast.dump(ast.parse(source)) == ast.dump(ast.parse(changed))
    except SyntaxError:
        return True  # no program: nothing to test


def _difference(source: str, changed: str) -> tuple[int, str, str]:
    """The number of the first changed line, it, and what became of it."""
    old, new = source.splitlines(), changed.splitlines()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            return i1 + 1, " ".join(s.strip() for s in old[i1:i2]), " ".join(s.strip() for s in new[j1:j2])
    return 0, "", ""


def _silent_lines(source: str) -> frozenset[int]:
    """The lines of imports, decorators, docstrings and ``__all__``."""
    silent: list[ast.stmt | ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                silent.extend(node.decorator_list)
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                silent.append(node)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                silent.append(node.test)
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                silent.append(node)
    return frozenset(line for each in silent for line in range(each.lineno, (each.end_lineno or each.lineno) + 1))


def _annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    spans = []
    for node in ast.walk(ast.parse(source)):
        there: list[ast.expr | None] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            there = [node.returns]
        elif isinstance(node, (ast.arg, ast.AnnAssign)):
            there = [node.annotation]
        elif isinstance(node, ast.keyword) and node.arg == "repr":  # of a dataclass's field: what people see
            there = [node.value]
        for each in there:
            if each is not None and each.end_lineno is not None and each.end_col_offset is not None:
                spans.append(((each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset)))
    return spans


def _in(spans: list[tuple[tuple[int, int], tuple[int, int]]], at: tuple[int, int]) -> bool:
    return any(start <= at < end for start, end in spans)


# Mutants tried: each in a copy of the tree, its room's tests asked stage by stage until one fails.


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
