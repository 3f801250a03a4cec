"""Judged units, kept beside the built files: what a matrix need not judge again, because nothing changed.

A unit's result follows from its built file and source header, the code of the testbed and of the strategies, the
seed and the budget, and the versions of the libraries that run, read and describe programs. The hash of all that is
its *key*. There is one file per unit and choice of strategies, so a newer result replaces the older one::

    line 1   SHA-256 of the rest, in hexadecimal
    line 2   the key
    rest     the cells, as JSON

A file that is missing, damaged, under another key, or that others may have written is no result. Only complete
results are kept: one that failed or was skipped may come out differently after an installation, without any file of
ours having changed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.campaign.matrix import judge_unit
from testbed.campaign.results import Cell, CountedCause, Difference, Unit, UnitResult
from testbed.campaign.units import BUDGET, SEED, build_unit
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.verdicts.one import Callers
from testbed.words.code_versions import code_of, version_of
from testbed.words.files import cache_folder
from testbed.words.outcome import Outcome
from testbed.words.own_files import keep_own, own_content

_PACKAGES = ("unicorn", "numpy", "capstone", "pyelftools", "numba")
_SUFFIX = ".judged"


def folder() -> Path:
    """The folder of kept results, inside that of built files. It need not exist yet."""
    return cache_folder() / "judged"


def kept_result(unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder]) -> UnitResult | None:
    """The kept result of a unit, or None where it must be judged.

    Builds the unit if its file is not in the cache: whether the result still holds depends on that file.
    """
    # The code is hashed before anything is judged: workers inherit the hash, so that a file edited in the meantime does
    # not get the results of the code that was loaded.
    codes = _codes(unwinders)
    path = _path(unit, unwinders)
    if not all(codes) or not path.is_file():
        return None
    try:
        key = _key(unit, programs, unwinders)
    except Exception:  # judging tells it
        return None
    return _read(path, unit, key)


def judge_and_keep(
    unit: Unit,
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    *,
    fresh: bool = False,
    natively: bool | None = None,
) -> UnitResult:
    """Judge a unit and keep its result if it is complete. Runs in worker processes; never raises for a bad unit."""
    result, key = judge_with_key(unit, programs, unwinders, fresh=fresh, natively=natively)
    keep_result(result, key, unwinders)
    return result


def judge_with_key(
    unit: Unit,
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    *,
    fresh: bool = False,
    natively: bool | None = None,
) -> tuple[UnitResult, str]:
    """Judge a unit without keeping anything: its result, and the key to keep it under; "" for one that is not kept.

    For a process on another machine, which has another folder: its versions are in the key.
    """
    result = judge_unit(unit, programs, unwinders, fresh=fresh, natively=natively)
    complete = all(_codes(unwinders)) and not result.skipped and not result.failed
    return result, _key(unit, programs, unwinders) if complete else ""


def keep_result(result: UnitResult, key: str, unwinders: Sequence[Unwinder]) -> None:
    """Keep a result under the key that it was judged with, unless that is ""."""
    if key:
        with suppress(OSError):  # a folder that cannot be written: judged again the next time
            _write(_path(result.unit, unwinders), result, key)


def usage() -> tuple[int, int]:
    """How many results are kept, and their size in bytes."""
    sizes = [path.stat().st_size for path in _files()]
    return len(sizes), sum(sizes)


def clear() -> int:
    """Remove every kept result; how many there were. Nothing else in the folder is touched."""
    removed = 0
    for path in list(_files()):
        with suppress(FileNotFoundError):  # another process clears too
            path.unlink()
            removed += 1
    return removed


def _files() -> Iterator[Path]:
    return folder().glob(f"*{_SUFFIX}") if folder().is_dir() else iter(())


def _path(unit: Unit, unwinders: Sequence[Unwinder]) -> Path:
    return folder() / f"{unit}.{_hash(unwinder.name for unwinder in unwinders)[:12]}{_SUFFIX}"


def _key(unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder]) -> str:
    """The hash of everything that decides a result."""
    built = build_unit(unit, programs)
    return _hash(
        (
            str(unit),
            built.path.name,  # a site without a symbol is told by it
            hashlib.sha256(built.path.read_bytes()).hexdigest(),
            *built.source.texts,
            *_codes(unwinders),
            str(SEED),
            str(BUDGET),
            sys.version,
            *(f"{package} {version_of(package)}" for package in _PACKAGES),
            *(unwinder.tool() for unwinder in unwinders if unwinder.tool is not None),
        )
    )


def _codes(unwinders: Sequence[Unwinder]) -> list[str]:
    """The hashes of the code of the testbed and of each package that a strategy is from; "" where there is none."""
    if not all(unwinder.repeatable for unwinder in unwinders):
        return [""]
    packages = {str(getattr(unwinder.unwind, "__module__", "")).partition(".")[0] for unwinder in unwinders}
    return [code_of(package) for package in sorted({"testbed", *packages})]


def _hash(parts: Iterable[str]) -> str:
    # A separator that no part contains: ("ab", "c") and ("a", "bc") differ.
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()


def _write(path: Path, result: UnitResult, key: str) -> None:
    data = {"steps": result.steps, "tools": result.tools, "cells": [_cell_data(cell) for cell in result.cells]}
    content = key.encode("ascii") + b"\n" + json.dumps(data).encode("utf-8")
    keep_own(path, content)


def _read(path: Path, unit: Unit, key: str) -> UnitResult | None:
    content = own_content(path)
    if content is None:
        return None
    held, _, body = content.partition(b"\n")
    if held != key.encode("ascii"):
        return None
    try:
        data = json.loads(body)
        cells = tuple(_cell(unit, each) for each in data["cells"])
        return UnitResult(unit, cells, data["steps"], tools=data["tools"], kept=True)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return None  # whole, and yet not what this testbed wrote


def _cell_data(cell: Cell) -> dict[str, Any]:
    return {
        "unwinder": cell.unwinder,
        "sites": cell.sites,
        "outcomes": {outcome.name: count for outcome, count in cell.outcomes.items()},
        "explained": cell.explained,
        "unexplained": cell.unexplained,
        "transition": cell.transition,
        "shown": [[mechanism, outcome.name, count] for (mechanism, outcome), count in cell.shown.items()],
        "causes": [[each.because, each.reference, each.outcome.name, each.steps] for each in cell.causes],
        "callers": [cell.callers.said, cell.callers.true, cell.callers.found],
        "first": _difference_data(cell.first),
        "first_unexplained": _difference_data(cell.first_unexplained),
        "first_lie": _difference_data(cell.first_lie),
    }


def _cell(unit: Unit, data: Mapping[str, Any]) -> Cell:
    return Cell(
        unit=unit,
        unwinder=data["unwinder"],
        sites=data["sites"],
        outcomes={Outcome[name]: count for name, count in data["outcomes"].items()},
        explained=data["explained"],
        unexplained=data["unexplained"],
        transition=data["transition"],
        shown={(mechanism, Outcome[outcome]): count for mechanism, outcome, count in data["shown"]},
        causes=tuple(CountedCause(why, where, Outcome[name], steps) for why, where, name, steps in data["causes"]),
        callers=Callers(*data["callers"]),
        first=_difference(data["first"]),
        first_unexplained=_difference(data["first_unexplained"]),
        first_lie=_difference(data["first_lie"]),
    )


def _difference_data(difference: Difference | None) -> list[Any] | None:
    if difference is None:
        return None
    told = (difference.mechanism, difference.seen, difference.because, difference.reference)
    return [difference.step, difference.where, difference.outcome.name, *told]


def _difference(data: Sequence[Any] | None) -> Difference | None:
    if data is None:
        return None
    step, where, outcome, *told = data
    return Difference(step, where, Outcome[outcome], *told)
