"""The mutants of a module: where a small change is possible, what it is, and which of them cannot matter.

Left out are places that no verdict follows from: annotations (never evaluated here), imports, docstrings, ``__all__``,
decorators (frozen or not, remembered or not), whether a field is shown (``repr=``). All else is in, also what looks
equivalent: that is said of it one by one.
"""

import ast
import compileall
import difflib
import hashlib
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code, use_mutation
from cosmic_ray.plugins import get_operator, operator_names

from testbed.native import compiled, machine_code
from testbed.store import KEY_LENGTH, KeptFiles, key_of
from tests.costs import function_of
from tests.mutation import trying
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
            if start[0] not in silent and not any(first <= start < end for first, end in annotations):
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


# Mutants tried: each in a copy of the tree, the tests that execute its line asked until one fails.


_COPIED = ("testbed", "unwinders", "programs", "tests", "benchmarks", "docs", "pyproject.toml", "README.md")
_MOST = 40.0  # seconds of tests that a mutant meets, as measured while their lines were watched: the quickest ones
_WAITS = 60.0  # and so many times that, and so many seconds, by the clock: one may hang without computing
REACHED = KeptFiles(room="reached", patterns=("*.reached",))


class Fate(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant and its fate; ``test`` is the one that failed, "" where none did.

    ``seconds`` are those of the processor that its tests took.
    """

    room: str
    mutant: Mutant
    fate: Fate
    test: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Reached:
    """Of tests that pass: the processor seconds of each, and by module and line which of them execute it.

    ``modules`` are those of others that they import.
    """

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[int, tuple[str, ...]]]
    modules: tuple[str, ...]

    def asked(self, mutant: Mutant) -> dict[str, float]:
        """The tests that a mutant meets, with their seconds: those that execute its line. The quickest come first; the
        second case of a test counts as twice as long, the third one three times.

        What runs where a module is imported is everybody's who runs anything of it; where nobody is seen to (machine
        code that C calls), all are asked.
        """
        lines = self.lines.get(mutant.module, {})
        at = max((line for line in lines if line <= mutant.line), default=0)
        reaching = lines.get(at) or {test for tests in lines.values() for test in tests} or self.seconds
        turn: Counter[str] = Counter()
        ordered: list[tuple[float, str]] = []
        for seconds, test in sorted((self.seconds[test], test) for test in reaching):
            turn[function_of(test)] += 1
            ordered.append((turn[function_of(test)] * seconds, test))
        found: dict[str, float] = {}
        left = _MOST
        for _, test in sorted(ordered):
            if self.seconds[test] <= left or not found:
                left -= self.seconds[test]
                found[test] = self.seconds[test]
        return found


def tried(room: str, mutants: Iterable[Mutant], *, jobs: int) -> Iterator[Trial]:
    """The fates of some mutants, in order, by ``jobs`` processes with a copy of the tree each.

    Raises RuntimeError where no test of the room passes on the unchanged code.
    """
    with ProcessPoolExecutor(jobs, initializer=_copy_tree) as pool:
        running = [pool.submit(_try, room, mutant) for mutant in mutants]
        for future in running:
            yield future.result()


class _Copy:
    """A copy of the tree, and a process that asks its tests (`tests.mutation.trying`); both go with who made them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._reached: dict[str, Reached] = {}
        own = {compiled.VARIABLE: "0", machine_code.VARIABLE: str(root / "native")}
        self._asking = subprocess.Popen(
            [sys.executable, "-P", trying.__file__],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root), **own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=trying.end_with_parent,
        )

    def ask(self, files: Sequence[str], *, seconds: Mapping[str, float], reached: Reached | None = None) -> Any:
        """What `tests.mutation.trying` says; without what is ``reached``, what the tests of files reach."""
        assert self._asking.stdin is not None and self._asking.stdout is not None
        modules = [] if reached else [pattern for room in ROOMS.values() for pattern in room.modules]
        most = _WAITS * (1 + sum(seconds.values())) if reached else 3600.0
        asked = {"files": files, "seconds": seconds, "modules": modules, "most": most}
        asked["answer"] = str(self.root / "answer.json")
        self._asking.stdin.write(json.dumps({**asked, "preload": reached.modules if reached else []}) + "\n")
        self._asking.stdin.flush()
        return json.loads(self._asking.stdout.readline())

    def end(self) -> None:
        """Ask no more: who is being asked ends too."""
        self._asking.kill()
        self._asking.wait()

    def reached(self, room: str) -> Reached:
        """What the tests of a room reach: found once for each file of them, and kept by what it may depend on."""
        if room not in self._reached:
            of_files = [self._reached_by(file) for file in ROOMS[room].test_files(self.root)]
            lines: dict[str, dict[int, tuple[str, ...]]] = {}
            for each in of_files:
                for module, of_module in each.lines.items():
                    for line, tests in of_module.items():
                        known = lines.setdefault(module, {})
                        known[line] = known.get(line, ()) + tests
            seconds = {test: took for each in of_files for test, took in each.seconds.items()}
            modules = {name: None for each in of_files for name in each.modules}
            if not seconds:
                raise RuntimeError(f"{room}: no test passes on the unchanged code")
            self._reached[room] = Reached(seconds, lines, tuple(modules))
        return self._reached[room]

    def _reached_by(self, file: str) -> Reached:
        beside = [path for path in (self.root / file).parent.rglob("*") if path.suffix != ".py"]
        code = [path for name in ("testbed", "unwinders") for path in (self.root / name).rglob("*.py")]
        rule = self.root / "tests/mutation/trying.py"
        files = [self.root / file, *sorted(path for path in [rule, *beside, *code] if path.is_file())]
        files = [path for path in files if "__pycache__" not in path.parts]
        key = key_of(*(path.relative_to(self.root).as_posix() + key_of(path.read_text("latin-1")) for path in files))
        found = REACHED.get_value(f"{key[:KEY_LENGTH]}.reached", Reached)
        if found is None:
            told = self.ask([file], seconds={})
            passed = len(told.get("seconds", ()))
            print(f"{file}: {passed} tests, {told['took']:.0f} CPU s", file=sys.stderr, flush=True)
            lines = {
                module: {int(line): tuple(tests) for line, tests in of_module.items()}
                for module, of_module in told.get("lines", {}).items()
            }
            found = Reached(told.get("seconds", {}), lines, tuple(told.get("modules", ())))
            REACHED.keep_value(f"{key[:KEY_LENGTH]}.reached", Reached, found)
        return found


_folder: tempfile.TemporaryDirectory[str] | None = None
_copy: _Copy | None = None


def _copy_tree() -> None:
    """The copy of the tree that this worker changes; it goes when the worker ends.

    It is compiled once, by the hash of each source: a mutant's module is compiled again, however soon it was changed.
    """
    global _copy, _folder
    _folder = tempfile.TemporaryDirectory(prefix="testbed-mutants-")
    root = Path(_folder.name)
    skip = shutil.ignore_patterns("__pycache__", "*.png", "*.svg")
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=skip)
        elif source.is_file():
            shutil.copy(source, root)
    for name in ("testbed", "unwinders", "programs"):
        by_hash = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(root / name, quiet=2, invalidation_mode=by_hash)
    _copy = _Copy(root)


def _try(room: str, mutant: Mutant) -> Trial:
    assert _copy is not None
    reached = _copy.reached(room)
    seconds = reached.asked(mutant)
    files = list(dict.fromkeys(test.partition("::")[0] for test in seconds))
    with use_mutation(_copy.root / mutant.module, get_operator(mutant.operator)(), mutant.occurrence):
        told = _copy.ask(files, seconds=seconds, reached=reached)
    status, failed = told["status"], (*told["failed"], "")[0]
    fate = Fate.TIMEOUT if status is None else Fate.SURVIVED if status == 0 else Fate.KILLED
    return Trial(room, mutant, fate, failed, told["took"])


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
