"""The mutants of a module: where a small change is possible, what it is, and which of them cannot matter.

Left out are places that no verdict follows from: annotations (never evaluated here), imports, docstrings, ``__all__``,
decorators (frozen or not, remembered or not), whether a field is shown (``repr=``). All else is in, also what looks
equivalent: that is said of it one by one.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.mutation.rooms import ROOT

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
